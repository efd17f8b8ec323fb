import type { Node, NodeAPI, NodeDef, NodeMessage } from 'node-red';
import type { RtspWanted } from '../../lib/cloud/calls';
import { fileNameOf } from '../../lib/files';
import { endOfAlarm } from '../../lib/inbox/searches';
import { LONGEST_CLIP_S, LONGEST_WHOLE_CLIP_S } from '../../lib/limits';
import type { ClipSpan, Recorded } from '../../lib/video/jobs/clip';
import { startOf } from '../../lib/video/jobs/job';
import type { ClipFacts } from '../../lib/video/mp4/clip-writer';
import { videoNode } from '../rvm-central-station/service-node';
import { allInboxes } from '../rvm-inbox/inboxes';
import { registerNode } from '../support/register';
import { flagOf, strictNumberOf, type Properties } from '../support/settings';
import { videoOf } from '../support/typed-input';
import { alarmOf, EndWatch, ClipDestinations } from './clip-job';

type WriterModule = typeof import('../../lib/video/mp4/clip-writer');

/** Default seconds of a clip before and after its alarm. */
const PRE_ROLL_S = 5;
const SECONDS = 20;

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };
  const destinations = new ClipDestinations(RED, properties);

  videoNode(RED, node, config, async (msg, { client, video, options }) => {
    const wanted = await videoOf(RED, node, properties, msg, PRE_ROLL_S);
    const from = startOf(wanted, Date.now()) ?? Date.now();
    const { span, watch } = spanOf(properties, wanted, { from, msg });
    try {
      const open = await destinations.open(wanted, from);
      const { ClipWriter } = require('../../lib/video/mp4/clip-writer') as WriterModule;
      const writer = new ClipWriter(open.destination);
      try {
        const recorded = await video.clip({ client, wanted }, span, writer, options);
        const facts = await writer.finish();
        const { camera } = recorded;
        msg.payload = open.payload();
        msg.filename = fileNameOf(camera.name || camera.id, new Date(recorded.from), 'mp4');
        // Replaces all headers: behind http in these are request headers, and http response would send them.
        msg.headers = { 'content-type': 'video/mp4' };
        msg.clip = clipOf(recorded, facts);
      } catch (error) {
        await writer.discard();
        throw error;
      }
    } finally {
      watch?.close();
    }
  });
}

/**
 * Span from the wanted start until some seconds after it, or after the end of the alarm.
 * @throws RvmError BAD_INPUT
 */
function spanOf(
  properties: Properties,
  wanted: RtspWanted,
  { from, msg }: { from: number; msg: NodeMessage },
): { span: ClipSpan; watch?: EndWatch } {
  const after = strictNumberOf(properties, 'seconds', SECONDS, 1, LONGEST_CLIP_S) * 1000;
  // A live clip starts with the first frame of the relay, because it may have waited for a free session.
  if (wanted.mode === 'live') return { span: { until: (first = Infinity) => first + after } };
  const start = from + wanted.preRoll * 1000;
  if (!flagOf(properties, 'untilEnd') || wanted.mode !== 'event')
    return { span: { until: () => start + after } };
  const most = strictNumberOf(properties, 'maxSeconds', LONGEST_CLIP_S, 1, LONGEST_WHOLE_CLIP_S) * 1000;
  const alarm = alarmOf(msg);
  const watch = new EndWatch(() => endOfAlarm(allInboxes(), alarm, alarm.since));
  return { span: { until: () => Math.min((watch.end ?? Infinity) + after, from + most) }, watch };
}

/** Facts for `msg.clip`. */
function clipOf(
  { camera, from, to, leftOut, reason }: Recorded,
  { seconds, bytes, sha256, codecs, width, height, frames }: ClipFacts,
): Record<string, unknown> {
  return {
    cameraId: camera.id,
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    seconds,
    bytes,
    sha256,
    codecs,
    width,
    height,
    frames,
    partial: reason !== undefined,
    ...(reason === undefined ? {} : { reason }),
    ...(leftOut.length === 0 ? {} : { leftOut }),
  };
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-get-clip', build);
