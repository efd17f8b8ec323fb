/** A part of a page, in pixels of the page. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Margin around the content, in pixels of the page. */
export const MARGIN = 20;
/** Pixels of a picture per pixel of the page. */
export const SCALE = 1.5;
