/** Epoch second whose bar shows 0: 2025-10-09 08:53:20 UTC. */
const BAR_START = 1_760_000_000;

/** Characters of the line of text. */
const LENGTH = 40;

/** The second 0..59 that the bar shows at an epoch second. */
export function barSecond(second: number): number {
  return (((second - BAR_START) % 60) + 60) % 60;
}

/** The line at the lower edge: the time on the left, the name of the camera on the right. */
export function captionOf(second: number, label: string): string {
  const time = new Date(second * 1000).toISOString().replace('T', ' ').slice(0, 19);
  const left = ` ${time} UTC `;
  const room = LENGTH - left.length - 1;
  return `${left}${label.slice(0, room).padStart(room)} `;
}
