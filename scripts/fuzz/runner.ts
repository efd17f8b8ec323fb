import * as fc from 'fast-check';

/** What is wrong with an answer: it takes what the oracle refuses, refuses what it takes, or says something else of it. */
export type Fault = 'accepted' | 'rejected' | 'wrong' | 'thrown';

export interface Complaint {
  fault: Fault;
  /** One line. */
  reason: string;
}

interface Definition<Input, Answer> {
  name: string;
  /** How many inputs of a million it gets. */
  share: number;
  inputs: fc.Arbitrary<Input>;
  /** Inputs that found a fault once, and those like them. */
  examples?: readonly Input[];
  /** Asks what is tested. What it throws is a fault. */
  act: (input: Input) => Answer | Promise<Answer>;
  /** Compares the answer with the oracle's; undefined where both agree. */
  judge: (input: Input, answer: Answer) => Complaint | undefined;
  /** What is shown of the input: its bytes, or a value that is shown as JSON. */
  shown: (input: Input) => unknown;
  /** Frees what it holds. */
  end?: () => Promise<void>;
}

/** What came of the inputs of one target. */
export interface Outcome {
  inputs: number;
  /** Milliseconds of what is tested, without the oracle. */
  slowestMs: number;
  /** The first fault, with the smallest input that leads to one. */
  finding: string | undefined;
}

/** One part of the package that is asked, and the oracle that knows the answer. */
export interface Target {
  readonly name: string;
  readonly share: number;
  /** Examples first, unless told otherwise; it ends at the first fault. */
  run(seed: number, inputs: number, withExamples?: boolean): Promise<Outcome>;
  /** All faults of so many inputs. */
  faults(seed: number, inputs: number): Promise<Fault[]>;
  end(): Promise<void>;
}

/** Bytes of an input that are printed. */
const MOST_SHOWN = 384;

export function targetOf<Input, Answer>(definition: Definition<Input, Answer>): Target {
  const { name, share, inputs: arbitrary, examples = [], act, judge, shown, end } = definition;
  let slowestMs = 0;

  async function complaintAbout(input: Input): Promise<Complaint | undefined> {
    const begun = performance.now();
    try {
      const pending = act(input);
      const answer = pending instanceof Promise ? await pending : pending;
      slowestMs = Math.max(slowestMs, performance.now() - begun);
      return judge(input, answer);
    } catch (error) {
      return { fault: 'thrown', reason: String(error) };
    }
  }

  const property = fc.asyncProperty(arbitrary, async (input) => {
    const complaint = await complaintAbout(input);
    if (complaint !== undefined) throw new Error(`${complaint.fault}: ${complaint.reason}`);
  });

  return {
    name,
    share,
    run: (seed, inputs, withExamples = true) =>
      withoutStacks(async () => {
        slowestMs = 0;
        const first = withExamples ? examples.map((input): [Input] => [input]) : [];
        const parameters = { seed, numRuns: inputs + first.length, examples: first, unbiased: true };
        const { counterexample, counterexamplePath, numRuns, errorInstance } = await fc.check(
          property,
          parameters,
        );
        if (counterexample === null) return { inputs: numRuns, slowestMs, finding: undefined };
        const what = `${name}: seed ${seed}, path ${counterexamplePath}: ${String(errorInstance)}`;
        return {
          inputs: numRuns,
          slowestMs,
          finding: `${what}\n  Base-64: ${base64(shown(counterexample[0]))}`,
        };
      }),
    faults: (seed, inputs) =>
      withoutStacks(async () => {
        const faults: Fault[] = [];
        for (const input of fc.sample(arbitrary, { seed, numRuns: inputs, unbiased: true })) {
          const complaint = await complaintAbout(input);
          if (complaint !== undefined) faults.push(complaint.fault);
        }
        return faults;
      }),
    end: async () => end?.(),
  };
}

/** What is no JSON is an error each time, whose stack takes longer than all the rest. */
async function withoutStacks<Kind>(work: () => Promise<Kind>): Promise<Kind> {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return await work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function base64(shown: unknown): string {
  const text = shown instanceof Uint8Array || typeof shown === 'string' ? shown : JSON.stringify(shown);
  const bytes = Buffer.from(text);
  const rest = bytes.length > MOST_SHOWN ? ` … (${bytes.length} bytes)` : '';
  return bytes.toString('base64', 0, MOST_SHOWN) + rest;
}
