import type { Random } from './random';

/** What is wrong with an answer: it takes what the oracle refuses, refuses what it takes, or says something else of it. */
export type Fault = 'accepted' | 'rejected' | 'wrong' | 'thrown';

export interface Complaint {
  fault: Fault;
  /** One line. */
  reason: string;
}

/** One input on its way. */
export interface Trial {
  /** Asks what is tested. What it throws is a finding. */
  act(): Promise<void> | undefined;
  /** Compares what it said with what the oracle says; undefined where both agree. */
  judge(): Complaint | undefined;
  /** The input, for whoever looks into a finding. */
  input(): Uint8Array;
}

/** One part of the package that is asked, and the oracle that knows the answer. */
export interface Target {
  readonly name: string;
  /** How many inputs of a million it gets. */
  readonly share: number;
  trial(random: Random): Trial;
  /** Frees what it holds. */
  end?(): Promise<void>;
}

export interface Definition<Input, Answer> {
  name: string;
  share: number;
  make: (random: Random) => Input;
  act: (input: Input) => Answer | Promise<Answer>;
  judge: (input: Input, answer: Answer) => Complaint | undefined;
  /** What is shown of the input: its bytes, or a value that is shown as JSON. */
  shown: (input: Input) => unknown;
  end?: () => Promise<void>;
}

export function targetOf<Input, Answer>(definition: Definition<Input, Answer>): Target {
  const { name, share, end } = definition;
  return { name, share, trial: (random) => new TrialOf(definition, random), ...(end && { end }) };
}

/** A class, for it is made a million times: closures of their own would take longer than some of what is tested. */
class TrialOf<Input, Answer> implements Trial {
  readonly #input: Input;
  #answer: { said: Answer } | undefined;

  constructor(
    private readonly definition: Definition<Input, Answer>,
    random: Random,
  ) {
    this.#input = definition.make(random);
  }

  act(): Promise<void> | undefined {
    const answer = this.definition.act(this.#input);
    if (answer instanceof Promise) return answer.then((said) => this.#took(said));
    this.#took(answer);
    return undefined;
  }

  judge(): Complaint | undefined {
    return this.#answer && this.definition.judge(this.#input, this.#answer.said);
  }

  input(): Uint8Array {
    return bytesOf(this.definition.shown(this.#input));
  }

  #took(said: Answer): void {
    this.#answer = { said };
  }
}

function bytesOf(shown: unknown): Uint8Array {
  if (shown instanceof Uint8Array) return shown;
  return Buffer.from(typeof shown === 'string' ? shown : (JSON.stringify(shown) ?? ''), 'utf8');
}
