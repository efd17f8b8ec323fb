import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Of what waits for a disk or for another machine nearby: from a millisecond to the patience of the service. */
const SHORT = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Until an event is with the flow: at once, or after a night in which nobody took it. */
const LONG = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600, 3600, 86_400];
/** Until the first picture of a video: a recording may have to be waited for. */
const PICTURE = [0.25, 0.5, 1, 2, 3, 5, 8, 13, 30, 60, 120];

/**
 * All metrics of the package; what they mean to people stands in docs/metrics.md, which a test compares with this. Base units, and
 * labels of a few known words, keys of stations apart.
 */
export class Instruments {
  readonly messages: Counter<'station' | 'answer'>;
  readonly acceptance: Histogram<'station'>;
  readonly deliveries: Counter<'station' | 'again'>;
  readonly delivery: Histogram<'station'>;
  readonly problems: Counter<'kind'>;
  readonly requests: Counter<'station' | 'status'>;
  readonly requestTime: Histogram<'station'>;
  readonly errors: Counter<'station' | 'code'>;
  readonly connected: Gauge<'station'>;
  readonly circuitOpen: Gauge<'station'>;
  readonly videoJobs: Counter<'outcome'>;
  readonly videoJobsRunning: Gauge;
  readonly firstFrame: Histogram;
  readonly commits: Histogram<'engine'>;
  readonly durable: Gauge<'engine'>;
  readonly waiting: Gauge<'engine'>;
  readonly oldestWaiting: Gauge<'engine'>;
  readonly deadLetters: Gauge<'engine' | 'station'>;
  readonly spilled: Counter;
  readonly spillMessages: Gauge;
  readonly raisedGroups: Gauge<never>;
  readonly findings: Gauge<'what' | 'severity'>;
  readonly cpu: Counter;
  readonly loop: Counter;
  readonly memory: Gauge;
  readonly started: Gauge;

  /** @param registry has them from now on, and nobody else */
  constructor(registry: Registry) {
    const registers = [registry];
    const counter = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter({ name, help, labelNames, registers });
    const gauge = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
      new Gauge({ name, help, labelNames, registers });
    const histogram = <Label extends string = never>(
      name: string,
      buckets: number[],
      help: string,
      ...labelNames: Label[]
    ) => new Histogram({ name, help, buckets, labelNames, registers });

    this.messages = counter(
      'rvm_webhook_messages_total',
      'Requests on webhook paths by what became of them.',
      'station',
      'answer',
    );
    this.acceptance = histogram(
      'rvm_webhook_acceptance_seconds',
      SHORT,
      'From the last byte of a proven message until its answer, behind the commit.',
      'station',
    );
    this.deliveries = counter(
      'rvm_deliveries_total',
      'Events handed to the flow, by why they came again.',
      'station',
      'again',
    );
    this.delivery = histogram(
      'rvm_delivery_seconds',
      LONG,
      'From the receipt of an event until the flow first had it.',
      'station',
    );
    this.problems = counter('rvm_problems_total', 'Problems of webhooks by kind.', 'kind');
    this.requests = counter(
      'rvm_service_requests_total',
      'Requests to the service by the HTTP status of the answer.',
      'station',
      'status',
    );
    this.requestTime = histogram(
      'rvm_service_request_seconds',
      SHORT,
      'Until the whole answer of the service was there.',
      'station',
    );
    this.errors = counter(
      'rvm_service_errors_total',
      'What was wanted of the service and has failed for good, by code.',
      'station',
      'code',
    );
    this.connected = gauge(
      'rvm_service_connected',
      '1 while the session with the service is good.',
      'station',
    );
    this.circuitOpen = gauge(
      'rvm_service_circuit_open',
      '1 while nothing but probes is sent to the service.',
      'station',
    );
    this.videoJobs = counter('rvm_video_jobs_total', 'Pictures, clips and views by outcome.', 'outcome');
    this.videoJobsRunning = gauge('rvm_video_jobs_running', 'Pictures, clips and views under way.');
    this.firstFrame = histogram(
      'rvm_video_first_frame_seconds',
      PICTURE,
      'From the begin of a video job until its first picture.',
    );
    this.commits = histogram(
      'rvm_store_commit_seconds',
      SHORT,
      'Transactions of the inbox, until they were durable.',
      'engine',
    );
    this.durable = gauge('rvm_inbox_durable', '1 while every inbox can store.', 'engine');
    this.waiting = gauge('rvm_inbox_waiting_events', 'Events that wait for their first delivery.', 'engine');
    this.oldestWaiting = gauge(
      'rvm_inbox_oldest_waiting_seconds',
      'How long the oldest event waits for its first delivery; 0 where none does.',
      'engine',
    );
    this.deadLetters = gauge(
      'rvm_inbox_dead_letters',
      'Dead letters that nobody has dealt with.',
      'engine',
      'station',
    );
    this.spillMessages = gauge('rvm_spill_messages', 'Messages kept beside an inbox that cannot take them.');
    this.raisedGroups = gauge('rvm_alarm_groups_raised', 'Groups of alarm state nodes that are raised.');
    this.findings = gauge('rvm_watch_findings', 'What watch nodes have found.', 'what', 'severity');
    this.spilled = counter(
      'rvm_spilled_messages_total',
      'Messages kept beside an inbox that could not take them.',
    );
    this.cpu = counter('process_cpu_seconds_total', 'CPU time of Node-RED, all threads.');
    this.loop = counter('rvm_event_loop_active_seconds_total', 'Time in which the event loop had work.');
    this.memory = gauge('process_resident_memory_bytes', 'Resident memory of Node-RED.');
    this.started = gauge('process_start_time_seconds', 'When Node-RED began, in seconds since 1970.');
  }
}
