"""Private gradients: clipping, sampling, noise; what they cost, and who listens.

Nothing is imported here, so that planning (`accounting`, `threats`, `theorem1`) need not wait for
torch.
"""
