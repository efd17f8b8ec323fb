/** Of rows that can be opened, one is open: each may hold an RTSP session. */
export class OneAtATime {
  #close: (() => void) | undefined;

  /** @param close called when another opens */
  opens(close: () => void): void {
    if (this.#close !== close) this.#close?.();
    this.#close = close;
  }

  close(): void {
    this.#close?.();
    this.#close = undefined;
  }
}
