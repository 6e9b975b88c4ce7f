import type { Readable } from 'node:stream'
import type { Call } from './call.ts'
import type { Attachment, Message } from './message.ts'

/** The caller who requests a file, and the conversation. */
export type FileAsking = Pick<Call, 'caller' | 'message'>

/** Files: the service behind `ctx.artifacts` and the control API. */
export type ArtifactService = {
  /** Saves up to 25 MB, for attachments of replies. Throws `artifact_too_large`, `forbidden`, `store_unavailable`. */
  save(args: { name: string; type: string; data: FileData }, asking: FileAsking): Promise<Attachment>
  /** `messageId`: the message it came with, if not the call's. Throws `artifact_not_found`, also if the caller has no access. */
  open(
    args: { artifact: string | Pick<Attachment, 'sha256'>; messageId?: string },
    asking: FileAsking,
  ): Promise<Readable>
  /** Throws like `open` unless the caller may send all of them; `named` is the answered message. */
  requireAll(attachments: readonly Attachment[], asking: FileAsking, named?: Message): Promise<void>
}

export type FileData = string | Uint8Array | Readable
