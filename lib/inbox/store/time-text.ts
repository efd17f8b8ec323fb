/** A time that a damaged disk has changed to none is as long ago as can be. @param ms since 1970 */
export function timeText(ms: number): string {
  const time = new Date(ms);
  return (Number.isNaN(time.getTime()) ? new Date(0) : time).toISOString();
}
