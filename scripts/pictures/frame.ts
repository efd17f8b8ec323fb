/** A part of a page, in its pixels. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Around what is shown, in pixels of the page. */
export const MARGIN = 20;
/** Pixels of a picture for each of the page. */
export const SCALE = 1.5;
