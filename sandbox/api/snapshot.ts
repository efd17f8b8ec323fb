import type { Answer } from './http-server';
import { badRequest } from '../refusal';
import type { Scenes } from '../scene/scenes';
import type { Incidents } from '../world/incidents';
import { viewOf } from '../world/views';
import type { Camera } from '../world/world';

const DEFAULT_WIDTH = 320;

/** The live picture of this second as JPEG: of the sizes there are the largest that is not wider than `width`, else the smallest. */
export async function snapshot(
  camera: Camera,
  width: string | null,
  { scenes, incidents, now }: { scenes: Scenes; incidents: Incidents; now: number },
): Promise<Answer> {
  const wanted = widthOf(width);
  const stills = await scenes.stills(camera.scene);
  return {
    status: 200,
    headers: {
      'Content-Type': 'image/jpeg',
      'X-Resource-Timestamp': new Date(now).toISOString(),
      'Content-Disposition': `inline; filename="${camera.name.replaceAll(' ', '-')}.jpg"`,
    },
    body: stills.jpeg(Math.floor(now / 1000), viewOf(camera, incidents), wanted),
  };
}

function widthOf(text: string | null): number {
  if (text === null || text === '') return DEFAULT_WIDTH;
  const width = Number(text);
  if (!Number.isInteger(width) || width < 1 || width > 10_000) {
    throw badRequest('width must be a whole number from 1 to 10000.', 'width');
  }
  return width;
}
