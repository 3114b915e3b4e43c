/** An AbortController that is made when somebody asks for its signal: every request can be aborted, it takes microseconds, and few are asked. */
export class LazyAbort {
  private controller: AbortController | undefined;
  private isAborted = false;

  get aborted(): boolean {
    return this.isAborted;
  }

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.isAborted) this.controller.abort();
    }
    return this.controller.signal;
  }

  abort(): void {
    this.isAborted = true;
    this.controller?.abort();
  }
}
