import { VERSIONS, type NodeRedVersion } from '../node-red/node-red';

/** How much of the suite is run, each lane with all of the one before: the table in CONTRIBUTING.md. */
export const LANES = ['quick', 'all', 'nightly'] as const;
export type Lane = (typeof LANES)[number];

/**
 * Names the lane to the processes that run tests. Without it all is run, as of a file that is named on the command line. What a
 * lane does not hold is not defined at all, for a test that is skipped counts as one that could not be run.
 */
export const LANE_VARIABLE = 'RVM_TEST_LANE';

const LANE = LANES.find((lane) => lane === process.env[LANE_VARIABLE]) ?? 'nightly';

/** A slow test that stands in a file of quick ones: for `npm run test:all`. */
export function slowIt(title: string, test: (this: Mocha.Context) => unknown): void {
  if (LANE !== 'quick') it(title, test);
}

/** One that is rare and long: for `npm run test:nightly`. */
export function nightlyIt(title: string, test: (this: Mocha.Context) => unknown): void {
  if (LANE === 'nightly') it(title, test);
}

/** A group of such tests, with what it sets up. */
export function nightlyDescribe(title: string, tests: (this: Mocha.Suite) => void): void {
  if (LANE === 'nightly') describe(title, tests);
}

/** How many of something a test takes: what few of them show, more prove. */
export function few(quick: number, all: number, nightly = all): number {
  return { quick, all, nightly }[LANE];
}

/** How often a property, or a model, is run. @param nightly in `npm run test:nightly` */
export function runsOf(nightly: number): number {
  return Math.ceil(few(nightly / 8, nightly / 2, nightly));
}

/** Of the values that a test is repeated for, those of this lane: `quick` are what tells most. */
export function byLane<Value>(
  quick: readonly Value[],
  slow: readonly Value[],
  rare: readonly Value[] = [],
): readonly Value[] {
  return [...quick, ...(LANE === 'quick' ? [] : slow), ...(LANE === 'nightly' ? rare : [])];
}

/** The versions of Node-RED to repeat a test on: what `npm test` has shown on 5, `npm run test:all` shows on 4.1. */
export const NODE_RED_VERSIONS: readonly NodeRedVersion[] =
  LANE === 'nightly' ? (Object.keys(VERSIONS) as NodeRedVersion[]) : [LANE === 'all' ? '4.1' : '5'];

/** The same of what `npm test` does not hold. */
export const SLOW_VERSIONS: readonly NodeRedVersion[] =
  LANE === 'nightly' ? (Object.keys(VERSIONS) as NodeRedVersion[]) : ['5'];

/** Files, or folders, that `npm test` leaves to `npm run test:all`. */
const SLOW: readonly string[] = [
  // In Chromium.
  'test/editor/',
  'test/examples/10-board/',
  // Each in a Node-RED of its own, beside controllers and receivers; test/nodes/examples.test.ts runs the first.
  'test/examples/03-modbus.test.ts',
  'test/examples/04-s7.test.ts',
  'test/examples/12-site-on-test.test.ts',
  'test/examples/13-nginx.test.ts',
  'test/examples/16-video-link.test.ts',
  // Behind nginx and Caddy.
  'test/proxies/',
  // Scraped by a real Prometheus.
  'test/metrics/prometheus.test.ts',
  // With system calls that strace lets fail, or records.
  'test/faults/crash-images.test.ts',
  'test/faults/disk.test.ts',
  // Packed, and installed from the package; and npm start, run as a newcomer would.
  'test/nodes/package.test.ts',
  'test/scripts/start.test.ts',
  // Processes that are killed, and one after the other upon one inbox.
  'test/faults/failing-store-kills.test.ts',
  'test/faults/kill.test.ts',
  'test/faults/two-processes.test.ts',
  'test/nodes/flow-run.test.ts',
  'test/nodes/inbox-incidents.test.ts',
  // With many events or requests at a time, files that grow, disks that fail to read, and figures of all that is deployed.
  'test/inbox/spilled-list.test.ts',
  'test/inbox/steady-load.test.ts',
  'test/inbox/writing.test.ts',
  'test/nodes/metrics.test.ts',
  'test/nodes/sign-of-life.test.ts',
  // Services that stumble, and what is watched in the meantime, each for as long as it takes.
  'test/nodes/watch.test.ts',
  // Of alarms that go on, beside other settings of the server, under a watch; with modules counted.
  'test/nodes/sidebar-video.test.ts',
  'test/nodes/video-jobs.test.ts',
  'test/nodes/view-place.test.ts',
];

/** Files, or folders, that are rare and long: for `npm run test:nightly` alone. */
const RARE: readonly string[] = [
  // Against GStreamer's RTSP server, whose recordings play in real time.
  'test/video/rtsp/gstreamer.test.ts',
  // Two hundred streams, each compared with what ffmpeg shows of it.
  'test/video/rtsp/sweep.test.ts',
  // Of the editor: single rows and buttons, small screens, and an inbox that is broken or busy.
  'test/editor/audit-trail.test.ts',
  'test/editor/sidebar-hands.test.ts',
  'test/editor/dialogs/pickers.test.ts',
  'test/editor/examples.test.ts',
  'test/editor/opened-event.test.ts',
  'test/editor/palette.test.ts',
  'test/editor/sidebar-filter.test.ts',
  'test/editor/sidebar-video.test.ts',
  'test/editor/statuses.test.ts',
  'test/editor/dialogs/dialogs-fit.test.ts',
  'test/editor/dialogs/reasons.test.ts',
  'test/editor/dialogs/service-dialogs.test.ts',
  'test/editor/dialogs/shared-inbox.test.ts',
  'test/editor/dialogs/video-dialogs.test.ts',
  'test/editor/dialogs/webhook-filters.test.ts',
  'test/editor/abandoned-events.test.ts',
  'test/editor/broken-inbox.test.ts',
  'test/editor/busy-sidebar.test.ts',
  'test/editor/problem-rows.test.ts',
  'test/editor/sidebar-buttons.test.ts',
  'test/editor/dialogs/alarm-classes.test.ts',
  'test/editor/dialogs/chosen-camera.test.ts',
  'test/editor/dialogs/folded-sections.test.ts',
  'test/editor/dialogs/watch-dialog.test.ts',
  // Brokers, mail servers, restores and receivers that are away or stumble; clips as evidence, figures of a week.
  'test/examples/05-dc09.test.ts',
  'test/examples/06-mqtt.test.ts',
  'test/examples/07-mail.test.ts',
  'test/examples/08-preset.test.ts',
  'test/examples/11-health.test.ts',
  'test/examples/17-evidence.test.ts',
  'test/examples/18-statistics.test.ts',
  // How the board looks, and what it says where Node-RED or its inbox fails.
  'test/examples/10-board/operators.test.ts',
  'test/examples/10-board/escalation.test.ts',
  'test/examples/10-board/site-plan.test.ts',
  'test/examples/10-board/connection.test.ts',
  'test/examples/10-board/looks.test.ts',
  'test/examples/10-board/many.test.ts',
  'test/examples/10-board/not-stored.test.ts',
  'test/examples/10-board/unread.test.ts',
  // What plays in Chromium, the pictures of the pages, npm start with a palette of its own, and the command of the tests.
  'test/video/view/player.test.ts',
  'test/video/mp4/chromium.test.ts',
  'test/scripts/picture-folder.test.ts',
  'test/scripts/test-command.test.ts',
  'test/scripts/start-palette.test.ts',
  // Services and databases that stumble or are away, each for as long as it takes; and recordings that come late.
  'test/cloud/patience.test.ts',
  'test/cloud/chaos.test.ts',
  'test/inbox/postgres/cut-off.test.ts',
  'test/inbox/postgres/outages.test.ts',
  'test/nodes/watch-inbox.test.ts',
  'test/nodes/watch-video.test.ts',
  'test/nodes/restart-hints.test.ts',
  'test/nodes/broken-video.test.ts',
  'test/nodes/video-of-alarms.test.ts',
  // Each fault of each video node, looked through for secrets.
  'test/nodes/video-secrets.test.ts',
  // The processor's time for very many cameras, and for very long answers.
  'test/cloud/large-directory-cost.test.ts',
  'test/cloud/long-answers-cost.test.ts',
  // With a million inputs in all.
  'test/fuzz/million/',
  // On Node.js of other versions, which are fetched.
  'test/nodes/node-versions.test.ts',
  'test/nodes/colliding-keys.test.ts',
  // Each file of the store that cannot be written, or loses its name; each history that is moved, and all else of a move, which is
  // made once in a lifetime (test/inbox/program/move.test.ts makes one); each balancer.
  'test/faults/store-file.test.ts',
  'test/faults/lost-name.test.ts',
  'test/inbox/older-copy.test.ts',
  'test/inbox/program/export.test.ts',
  'test/inbox/moving/',
  'test/proxies/balancers.test.ts',
  // Several Node-RED on one database.
  'test/nodes/shared-inbox-faults.test.ts',
  'test/nodes/two-instances.test.ts',
  'test/nodes/watch-instances.test.ts',
  'test/proxies/balanced-node-red.test.ts',
  'test/cluster/',
  // Very many cameras, alarms, events or messages.
  'test/cloud/load.test.ts',
  'test/inbox/postgres/backlog.test.ts',
  'test/inbox/unread.test.ts',
  'test/nodes/pipelined-flood.test.ts',
  'test/cloud/large-directory.test.ts',
  'test/faults/large-search.test.ts',
  'test/faults/load.test.ts',
];

/** @param name of a test file, from the root of the project */
export function isInLane(lane: Lane, name: string): boolean {
  if (isIn(RARE, name)) return lane === 'nightly';
  return lane !== 'quick' || !isIn(SLOW, name);
}

/** Files, or folders, that measure the machine, and are run while nothing else is. */
export const ALONE: readonly string[] = [
  // CPU time, memory, and how long the event loop stands still.
  'test/cloud/large-directory-cost.test.ts',
  'test/cloud/long-answers-cost.test.ts',
  'test/nodes/long-device-list.test.ts',
  // Times of answers, one against the other.
  'test/webhook/timing.test.ts',
  // How soon an instance is taken for dead, while several Node-RED have much to do.
  'test/cluster/',
];

/** Files, or folders, whose output is shown where they pass, too: what they have counted. */
export const SHOWN: readonly string[] = [
  'test/cluster/',
  'test/faults/failing-store-kills.test.ts',
  'test/video/rtsp/sweep.test.ts',
];

/** @param name of a file, from the root of the project */
export function isIn(list: readonly string[], name: string): boolean {
  return list.some((place) => (place.endsWith('/') ? name.startsWith(place) : name === place));
}
