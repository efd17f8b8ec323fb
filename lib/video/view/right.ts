/** What is said of the alarm on the page; each line of text is short. */
export interface ViewFacts {
  /** When it began, in milliseconds since 1970. */
  time?: number;
  site?: string;
  /** Name of the camera. */
  camera?: string;
  rule?: string;
  /** True for what the sandbox made up. */
  sandbox: boolean;
}

/** Which camera: by the ids that an event has of it. One of them is there. */
export interface ViewCamera {
  id?: string;
  remoteId?: string;
}

/** Milliseconds since 1970. */
export interface TimeSpan {
  from: number;
  to: number;
}

/** What one address opens, and nothing else; who has the address has the right. */
export interface ViewRight {
  /** Key of the Central Station. */
  station: string;
  /** Id of the node that gave the right, and without which it is none. */
  node: string;
  camera: ViewCamera;
  /** The part of the recording; undefined where only the camera's video of now may be seen. */
  recorded?: TimeSpan;
  /** Whether the camera may be seen as it is now. */
  live: boolean;
  /** Milliseconds since 1970: it ends then. */
  expires: number;
  facts: ViewFacts;
}
