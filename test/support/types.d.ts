/** The parts of the mail parser that are used here; it ships no types. */
declare module 'mailparser' {
  export interface ParsedMail {
    subject?: string;
    text?: string;
    /** False where the mail has no HTML. */
    html: string | false;
    messageId?: string;
    inReplyTo?: string;
    from?: { text: string };
    to?: { text: string };
    attachments: { contentType: string; filename?: string; content: Buffer }[];
  }

  export function simpleParser(source: NodeJS.ReadableStream | Buffer): Promise<ParsedMail>;
}

/** The parts of the test helper that are used here; it ships no types. */
declare module 'node-red-node-test-helper' {
  import type { Node, NodeInitializer } from 'node-red';

  export interface CompleteEvent {
    node: { id: string };
    error?: Error;
  }

  interface Helper {
    init(runtime: string, settings?: object): void;
    startServer(done?: () => void): Promise<void>;
    stopServer(done?: () => void): Promise<void>;
    load(nodes: NodeInitializer[], flows: object[], credentials?: object): Promise<void>;
    unload(): Promise<void>;
    getNode(id: string): Node | null;
    _RED: {
      hooks: {
        add(name: string, hook: (event: CompleteEvent) => void): void;
        remove(name: string): void;
      };
    };
  }

  const helper: Helper;
  export default helper;
}
