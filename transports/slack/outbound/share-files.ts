import { TriviumError } from '../../../src/core/errors.ts'
import type { Artifacts } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { Target } from '../conversation.ts'
import type { Sending } from './sent-log.ts'

/**
 * Uploads the files of a reply and shares them in one post (https://docs.slack.dev/messaging/working-with-files).
 * Their ids are noted before they are shared, so that a share whose outcome is unknown can be looked for.
 */
export async function shareFiles(
  { reply, workspace: { api }, sent, save }: Sending,
  { channel, thread }: Pick<Target, 'channel' | 'thread'>,
  artifacts: Artifacts,
): Promise<void> {
  const files: { id: string; title: string }[] = []
  for (const { name, size, sha256 } of reply.attachments ?? []) {
    // An upload that is not shared is seen by nobody, so it may fail and be repeated.
    const slot = await api.call('files.getUploadURLExternal', (web) =>
      web.files.getUploadURLExternal({ filename: name, length: size }),
    )
    const response = await fetch(slot.upload_url ?? '', {
      method: 'POST',
      body: await bytesOf(artifacts, sha256),
      signal: AbortSignal.timeout(60_000),
    })
    await response.body?.cancel()
    if (!response.ok) {
      const reason = `the upload of ${name} was answered with ${response.status}`
      throw new TriviumError('send_failed', { gateway: reply.gateway, reason })
    }
    files.push({ id: slot.file_id ?? '', title: name })
  }
  const [first, ...rest] = files
  if (!first) return
  sent.files = files.map(({ id }) => id)
  await save()
  await api.call('files.completeUploadExternal', (web) =>
    web.files.completeUploadExternal({
      files: [first, ...rest],
      channel_id: channel,
      ...defined({ thread_ts: thread }),
    }),
  )
}

async function bytesOf(artifacts: Artifacts, sha256: string): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of artifacts.open(sha256)) chunks.push(Uint8Array.from(chunk))
  return new Blob(chunks)
}
