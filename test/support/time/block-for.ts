/** Holds up this thread, as a long computation does, and uses no processor for it. */
export function blockFor(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
