"""What a run shows to people: tables, figures and pages, made from plain files and numbers."""
