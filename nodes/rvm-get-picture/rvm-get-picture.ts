import type { Node, NodeAPI, NodeDef, NodeStatus } from 'node-red';
import { fileNameOf } from '../../lib/files';
import type { AlarmPicture } from '../../lib/video/cloud-video';
import { offsetsIn, pictureWidthIn } from '../../lib/video/picture/wanted-picture';
import { videoNode, type VideoCall } from '../rvm-central-station/service-node';
import { newDecoder } from '../rvm-cloud/cloud-video';
import { onFlowsState } from '../support/flows';
import { deliveryIdOf } from '../rvm-inbox/inboxes';
import { keepPicture } from '../support/recent-video';
import { registerNode } from '../support/register';
import { choiceOf, textOf, type Properties } from '../support/settings';
import { status } from '../support/status';
import { videoOf } from '../support/typed-input';

type Layout = 'first' | 'list' | 'sheet';

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };
  let canDecode = true;
  const lack = (): NodeStatus | undefined => (canDecode ? undefined : status(RED, 'decoderMissing'));

  const shown = videoNode(
    RED,
    node,
    config,
    async (msg, { station, client, video, options }) => {
      const offsets = offsetsIn(textOf(properties, 'offsets', '0'));
      const width = pictureWidthIn(textOf(properties, 'width'));
      const layout = choiceOf<Layout>(properties, 'layout', ['first', 'list', 'sheet']);
      const wanted = await videoOf(RED, node, properties, msg);
      const pictures = await video.pictures({ client, wanted }, { offsets, width }, options);
      tellDecoder(true);
      const [first] = pictures;
      if (first === undefined) return;
      msg.payload = await payloadOf(layout, pictures, video, { width, signal: options.signal });
      msg.filename = fileNameOf(first.camera.name || first.camera.id, new Date(first.time), 'jpg');
      // Replaces all headers: behind http in these are request headers, and http response would send them.
      msg.headers = { 'content-type': 'image/jpeg' };
      msg.pictures = pictures.map(({ camera: _camera, ...picture }) => ({
        ...picture,
        jpeg: Buffer.from(picture.jpeg),
      }));
      const deliveryId = wanted.mode === 'event' ? deliveryIdOf(msg) : '';
      const of = { station: station.key, camera: first.camera.id };
      keepPicture(deliveryId, nearest(pictures, first), wanted.mode === 'live' ? 'live' : 'alarm', of);
    },
    lack,
  );

  function tellDecoder(isThere: boolean): void {
    if (isThere === canDecode) return;
    canDecode = isThere;
    shown.show();
  }

  /** Checked before the first alarm, so that a missing decoder shows early. */
  const lookForDecoder = async (): Promise<void> => {
    const decoder = newDecoder(RED);
    tellDecoder(await decoder.available());
    await decoder.close();
  };
  node.on(
    'close',
    // A failure of the check itself shows with the first picture.
    onFlowsState(RED, 'started', () => void lookForDecoder().catch(() => undefined)),
  );
}

/** Copies the bytes: a flow may change its copy, and the sidebar shows the picture as taken. */
async function payloadOf(
  layout: Layout,
  pictures: readonly AlarmPicture[],
  video: VideoCall['video'],
  options: { width: number | undefined; signal: AbortSignal },
): Promise<Buffer | Buffer[] | undefined> {
  const [first] = pictures;
  if (layout === 'first') return first && Buffer.from(first.jpeg);
  if (layout === 'list') return pictures.map(({ jpeg }) => Buffer.from(jpeg));
  const { jpeg } = await video.sheet(pictures, options);
  return jpeg;
}

/** The picture nearest to the alarm. */
function nearest(pictures: readonly AlarmPicture[], first: AlarmPicture): Buffer {
  return pictures.reduce((a, b) => (Math.abs(b.offset) < Math.abs(a.offset) ? b : a), first).jpeg;
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-get-picture', build);
