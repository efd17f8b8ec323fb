import { costOfLevel } from './alarm-level';
import { requestsOfADay } from './day';
import { deathOfService } from './death-of-service';
import { bytesOfAnEvent } from './disk-writes';
import { refreshBlocks } from './event-loop';
import { firstAlarmAfterRestart } from './first-alarm';
import { firstLoad } from './first-load';
import { footprint } from './footprint';
import type { Measurement } from './measurement';
import { deliveryElsewhere } from './postgres/delivery-elsewhere';
import { drainOfMany } from './postgres/drain';
import { rateToBareTable, rateToSqlite } from './postgres/settled-rate';
import { rateInPostgres } from './postgres/webhook-rate';
import { costOfProof } from './proof-cost';
import { restartWithManyWaiting } from './restart';
import { rateManyAtATime, timeOneAtATime } from './rtsp-rate';
import { rateWithManyStored } from './stored-events';
import { timeToPicture } from './video/alarm-picture';
import { cpuOfClip } from './video/clip-cpu';
import { memoryOfClip } from './video/clip-memory';
import { liveView } from './video/live-view';
import { manyClips } from './video/many-clips';
import { alarmsBesideFlood } from './pipelined-flood';
import { latencyOnNodeRed } from './webhook-latency';
import { rateOfKeeping, rateOnListener, rateOnNodeRed, rateWithHistory } from './webhook-rate';

/** All of them by the id of their rows, in the order of the table. */
export const MEASUREMENTS: Readonly<Record<string, Measurement>> = {
  B1: rateOnNodeRed,
  B1b: rateOfKeeping,
  B1c: bytesOfAnEvent,
  B2: rateOnListener,
  B3: latencyOnNodeRed,
  B4: timeOneAtATime,
  B5: rateManyAtATime,
  B6: requestsOfADay,
  B7: firstLoad,
  B8: refreshBlocks,
  B9: rateWithManyStored,
  B10: restartWithManyWaiting,
  B11: footprint,
  B12: firstAlarmAfterRestart,
  B13: costOfProof,
  B14: rateWithHistory,
  B15: costOfLevel,
  B16: deathOfService,
  B17: alarmsBesideFlood,
  P1: rateToBareTable,
  P2: rateToSqlite,
  P3: rateInPostgres,
  P4: deliveryElsewhere,
  P5: drainOfMany,
  V1: timeToPicture,
  V2: cpuOfClip,
  V3: manyClips,
  V4: liveView,
  V5: memoryOfClip,
};
