import { TriviumError } from '../../../src/core/errors.ts'
import type { Artifacts, Reply } from '../../../src/core/transport.ts'
import type { Target } from '../conversation.ts'
import type { Workspace } from '../workspaces.ts'
import type { Progress } from './sent-log.ts'

/**
 * Uploads the files of a reply and shares them in one post (https://docs.slack.dev/messaging/working-with-files).
 * Their ids are noted before they are shared, so that a share whose outcome is unknown can be looked for.
 */
export async function shareFiles(parts: {
  reply: Reply
  workspace: Workspace
  target: Target
  progress: Progress
  save(): Promise<void>
  artifacts: Artifacts
}): Promise<void> {
  const { reply, workspace, target, progress, save } = parts
  const files: { id: string; title: string }[] = []
  for (const attachment of reply.attachments ?? []) {
    const { name, size, sha256 } = attachment
    // An upload that is not shared is seen by nobody, so it may fail and be repeated.
    const slot = await workspace.api.write('files.getUploadURLExternal', (web) =>
      web.files.getUploadURLExternal({ filename: name, length: size }),
    )
    const body = await bytesOf(parts.artifacts, sha256)
    const response = await fetch(slot.upload_url ?? '', {
      method: 'POST',
      body,
      signal: AbortSignal.timeout(60_000),
    })
    await response.body?.cancel()
    if (!response.ok)
      throw unsent(reply.gateway, `the upload of ${name} was answered with ${response.status}`)
    files.push({ id: slot.file_id ?? '', title: name })
  }
  const [first, ...rest] = files
  if (!first) return
  progress.files = files.map(({ id }) => id)
  await save()
  await workspace.api.write('files.completeUploadExternal', (web) =>
    web.files.completeUploadExternal({
      files: [first, ...rest],
      channel_id: target.channel,
      ...(target.thread === undefined ? {} : { thread_ts: target.thread }),
    }),
  )
}

async function bytesOf(artifacts: Artifacts, sha256: string): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of artifacts.open(sha256)) chunks.push(Uint8Array.from(chunk))
  return new Blob(chunks)
}

function unsent(gateway: string, reason: string): TriviumError {
  return new TriviumError('send_failed', { gateway, reason })
}
