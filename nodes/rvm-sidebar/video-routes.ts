import type { NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { VIDEO_DEADLINE_S, VIDEO_WAIT_S } from '../../lib/limits';
import type { ViewAnswers, ViewContent } from '../../lib/video/view/video-answers';
import type { ViewerSessions, ViewSource } from '../../lib/video/view/visits';
import { ViewVideoSource, type ViewChoice } from '../rvm-view/view-source';
import { logUnknown, mediaRoute, type Request, type Response } from '../support/admin-routes';
import { keepPicture, pictureKindOf, pictureOf } from '../support/recent-video';
import { requestedVideo, type RequestedVideo, SIDEBAR_VIDEO } from './events';

type AnswerModule = typeof import('../../lib/video/view/http');
type AnswersModule = typeof import('../../lib/video/view/video-answers');
type ViewingModule = typeof import('../../lib/video/view/visits');
type FragmentsModule = typeof import('../../lib/video/mp4/fragment-writer');

/** Maximum of concurrent streams of all sidebars, and of concurrent pictures and clips. */
const VIEWERS = 4;
const CHOICE = {
  ...SIDEBAR_VIDEO,
  deadlineMs: VIDEO_DEADLINE_S * 1000,
  waitForVideoMs: VIDEO_WAIT_S * 1000,
};

/** Video parts, created at first use: most users of the sidebar open no video. */
interface Screen {
  answers: ViewAnswers;
  viewing: ViewerSessions;
  sendFault: AnswerModule['sendFault'];
}

/**
 * Routes for the player in the sidebar: `GET rvm/video/stream`, `…/picture` and `…/clip.mp4`, for the event `delivery`, or for
 * the camera `camera` of `station` (a key). To be called once, when the plugin registers.
 */
export function addVideoRoutes(RED: NodeAPI): void {
  let made: Screen | undefined;
  const screen = (): Screen => {
    made ??= newScreen(RED);
    return made;
  };
  mediaRoute(RED, 'video/stream', (req, res) => send(RED, screen(), req, res, partOf(req)));
  mediaRoute(RED, 'video/picture', (req, res) => send(RED, screen(), req, res, 'picture'));
  mediaRoute(RED, 'video/clip.mp4', (req, res) => send(RED, screen(), req, res, 'clip'));
}

function newScreen(RED: NodeAPI): Screen {
  const { sendFault } = require('../../lib/video/view/http') as AnswerModule;
  const { ViewAnswers } = require('../../lib/video/view/video-answers') as AnswersModule;
  const { ViewerSessions } = require('../../lib/video/view/visits') as ViewingModule;
  const { FragmentWriter } = require('../../lib/video/mp4/fragment-writer') as FragmentsModule;
  // Errors with a code are reported to the viewer instead.
  const failed = (error: Error): void => {
    if (!(error instanceof RvmError)) logUnknown(RED, 'video', error);
  };
  return {
    answers: new ViewAnswers({ fragments: ({ audio }, seconds) => new FragmentWriter(audio, seconds) }),
    viewing: new ViewerSessions({ viewers: VIEWERS, failed }),
    sendFault,
  };
}

async function send(
  RED: NodeAPI,
  { answers, viewing, sendFault }: Screen,
  req: Request,
  res: Response,
  content: ViewContent | undefined,
): Promise<void> {
  res.on('error', () => undefined);
  if (content === undefined) return sendFault(req, res, 'BAD_INPUT');
  try {
    const requested = await requestedVideo(RED, req.query);
    const source = sourceOf(RED, requested, content);
    await answers.answer(
      req,
      res,
      { right: requested.right, viewing, source, name: nameOf(requested) },
      content,
    );
  } catch (error) {
    if (!(error instanceof RvmError)) throw error;
    sendFault(req, res, error.code);
  }
}

function partOf({ query }: Request): 'recorded' | 'live' | undefined {
  const { part } = query;
  return part === 'recorded' || part === 'live' ? part : undefined;
}

function sourceOf(RED: NodeAPI, { right, deliveryId }: RequestedVideo, content: ViewContent): ViewSource {
  // Live video of a camera that is offline fails at once, with that reason.
  const isLive = content === 'live' || right.recorded === undefined;
  const choice: ViewChoice = isLive ? { ...CHOICE, whenOffline: 'fail' } : CHOICE;
  const view = new ViewVideoSource(RED, right, choice);
  if (deliveryId === undefined) return view;
  return {
    open: (part, signal) => view.open(part, signal),
    clip: (signal) => view.clip(signal),
    picture: (signal) => pictureOfAlarm(deliveryId, right, () => view.picture(signal)),
  };
}

/**
 * Returns the cached picture of the alarm, made by *get picture* or for another user; else makes one, which then becomes the
 * thumbnail of the event.
 */
async function pictureOfAlarm(
  deliveryId: string,
  { station, camera }: RequestedVideo['right'],
  make: () => Promise<Buffer>,
): Promise<Buffer> {
  const known = pictureKindOf(deliveryId) === 'alarm' ? pictureOf(deliveryId) : undefined;
  if (known !== undefined) return known;
  const jpeg = await make();
  keepPicture(deliveryId, jpeg, 'alarm', { station, camera: camera.id });
  return jpeg;
}

function nameOf({ right, deliveryId }: RequestedVideo): string {
  const { station, camera } = right;
  return deliveryId ?? JSON.stringify([station, camera.id]);
}
