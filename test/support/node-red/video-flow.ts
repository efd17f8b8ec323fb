import type { RtspFault, SandboxOptions } from '../../../sandbox';
import type { FlowNode, NodeRedVersion, StartOptions } from './node-red';
import { eventually } from '../time/patience';
import { isOnline, StationFlow, type Message, type SandboxCamera } from './station-flow';

/** The sandbox's video shows in its second 0 to 59 how far a time is from this one, in epoch seconds. */
const BAR_BEGINS = 1_760_000_000;

/** A time long enough ago that all of its recording is there: on a whole second, an hour before now. */
export const LONG_AGO = Math.floor(Date.now() / 1000) * 1000 - 3_600_000;

/** The second that the bar of the sandbox's video shows at a time, in epoch milliseconds. */
export function barAt(time: number): number {
  return Math.floor(time / 1000 - BAR_BEGINS) % 60;
}

/** What *get clip* tells of a clip. */
export interface ClipFacts {
  cameraId: string;
  from: string;
  to: string;
  seconds: number;
  bytes: number;
  sha256: string;
  codecs: string;
  width: number;
  height: number;
  frames: number;
  partial: boolean;
  reason?: string;
}

interface RelayState {
  connections: number;
  sessions: number;
  opened: number;
}

export function clipIn(msg: Message): ClipFacts {
  return msg.clip as ClipFacts;
}

/** Real Node-RED, with a cloud that may have its video relay on this machine, and a sandbox whose RTSP sessions are counted. */
export class VideoFlow {
  private constructor(
    readonly station: StationFlow,
    readonly camera: SandboxCamera,
  ) {}

  static async start(
    version: NodeRedVersion,
    sandboxOptions: SandboxOptions = {},
    options: StartOptions = {},
  ): Promise<VideoFlow> {
    const station = await StationFlow.start(version, sandboxOptions, options);
    return new VideoFlow(station, await station.camera(isOnline));
  }

  async stop(): Promise<void> {
    await this.station.stop();
  }

  /** Deploys nodes that get the messages which go in. @param cloud properties of its cloud beyond the usual ones */
  async deploy(nodes: FlowNode[], cloud: Message = {}): Promise<void> {
    await this.station.deployFlows(this.flows(nodes, cloud));
  }

  flows(nodes: readonly FlowNode[], cloud: Message = {}): FlowNode[] {
    return this.station.flows({ cloud: { localRelays: true, ...cloud } }, ...nodes);
  }

  /** An event of a camera, as a webhook brings it. @param time epoch milliseconds */
  event(time = LONG_AGO, { id, remoteId, name } = this.camera): Message {
    return {
      alarmId: `alarm-${time}`,
      cameraId: id,
      cameraRemoteId: remoteId,
      cameraName: name,
      eventStartTime: `${new Date(time).toISOString().slice(0, -1)}0000`,
    };
  }

  fault(fault: RtspFault): void {
    this.station.sandbox.setVideoFault(fault);
  }

  async endFaults(): Promise<void> {
    this.station.sandbox.clearVideoFaults();
    await this.station.endFaults();
  }

  /** Connections and RTSP sessions at the relay that are open now, and all sessions that were ever opened. */
  async relay(): Promise<RelayState> {
    const response = await fetch(`${this.station.sandbox.url}/sandbox/state`);
    return ((await response.json()) as { video: RelayState }).video;
  }

  /** Waits until nothing is open at the relay. */
  async relayLeft(): Promise<void> {
    await eventually(async () => {
      const { connections, sessions } = await this.relay();
      return connections === 0 && sessions === 0;
    }, 'the end of all that was open at the relay');
  }

  /** How many RTSP sessions some work opened. */
  async openedBy(work: () => Promise<unknown>): Promise<number> {
    const { opened: before } = await this.relay();
    await work();
    return (await this.relay()).opened - before;
  }
}
