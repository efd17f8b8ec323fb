import { Admission, type Applicant } from './admission';

/** The admissions of all paths, each of them as long as requests of it are under way: paths come and go with their nodes. */
export class Admissions {
  readonly #ofPath = new Map<string, Admission>();

  /** Both for each path, as in `Admission`. */
  constructor(
    private readonly capacity: number,
    private readonly maxBytes: number,
  ) {}

  /** As `Admission.admit`, at a path. */
  async admit(path: string, applicant: Applicant, work: () => Promise<void>): Promise<boolean> {
    const admission = this.#ofPath.get(path) ?? new Admission(this.capacity, this.maxBytes);
    this.#ofPath.set(path, admission);
    try {
      return await admission.admit(applicant, work);
    } finally {
      if (admission.isIdle && this.#ofPath.get(path) === admission) this.#ofPath.delete(path);
    }
  }
}
