import type { Readable } from 'node:stream'
import type { Call } from './call.ts'
import type { Attachment, Message } from './message.ts'

/** The caller who saves or opens a file, and the message of the conversation. */
export type FileRequester = Pick<Call, 'caller' | 'message'>

/** Files: the service behind `ctx.artifacts` and the control API. */
export type ArtifactService = {
  /**
   * Saves up to 25 MB, for attachments of replies. Throws `artifact_too_large`, `forbidden`,
   * `store_unavailable`.
   */
  save(args: { name: string; type: string; data: FileData }, requester: FileRequester): Promise<Attachment>
  /**
   * `messageId`: the message that the file came with; default: the message of the call. Throws
   * `artifact_not_found`, also if the caller has no access.
   */
  open(
    args: { artifact: string | Pick<Attachment, 'sha256'>; messageId?: string },
    requester: FileRequester,
  ): Promise<Readable>
  /**
   * Throws like `open` unless the caller may send all of the files. `answered`: the message that is
   * answered, if any.
   */
  requireAll(attachments: readonly Attachment[], requester: FileRequester, answered?: Message): Promise<void>
}

export type FileData = string | Uint8Array | Readable
