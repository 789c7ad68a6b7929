// Search from disk. A browser starts no worker for a page that was opened as a file, and the search runs in one.
// Here a hidden frame of the same page stands in for it: it has a global scope of its own, which is all that is needed.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.title = "search"
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.ready = new Promise(resolve => {
        const script = inside.document.createElement("script")
        script.src = url
        script.onload = resolve
        inside.document.body.append(script)
      })
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
