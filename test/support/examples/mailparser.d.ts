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
