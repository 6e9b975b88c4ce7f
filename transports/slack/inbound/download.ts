import { Readable } from 'node:stream'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Attachment } from '../../../src/core/message.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { slackFailure } from '../failure.ts'
import { defined, textAt } from '../fields.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace } from '../workspaces.ts'

/** `forGood`: trying again would not help. */
export type Download = { attachment: Attachment } | { error: string; forGood: boolean }

type Deps = {
  workspace: Workspace
  options: SlackOptions
  artifacts: TransportDeps['artifacts']
  signal: AbortSignal
}

/** Downloads one file of Slack to an artifact, with the bot's token. Never rejects. */
export async function download(file: JsonObject, deps: Deps): Promise<Download> {
  try {
    return await save(await withDetails(file, deps.workspace), deps)
  } catch (error) {
    const tooLarge = error instanceof TriviumError && error.code === 'body_too_large'
    return { error: reasonOf(error), forGood: tooLarge || slackFailure(error).kind === 'rejected' }
  }
}

async function save(file: JsonObject, { workspace, options, artifacts, signal }: Deps): Promise<Download> {
  const limit = options['max-file-size']
  if (typeof file.size === 'number' && file.size > limit) return refused(`it is over ${limit} bytes`)
  const url = textAt(file, 'url_private_download') ?? textAt(file, 'url_private')
  if (url === undefined) return refused('Slack gives no address to download it from')
  if (!mayHaveToken(url, options.apiUrl)) return refused('it is not kept at Slack')
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${workspace.token}` },
    // Without the scope files:read Slack sends browsers to a page to log in.
    redirect: 'manual',
    signal,
  })
  const { status, body } = response
  if (!response.ok || !body) {
    await body?.cancel()
    const error = `Slack answered ${status}`
    if (status >= 500 || status === 429 || status === 408) return { error, forGood: false }
    return refused(`${error}; the token may lack the scope files:read`)
  }
  const type = textAt(file, 'mimetype') ?? 'application/octet-stream'
  const isPage = (response.headers.get('content-type') ?? '').startsWith('text/html')
  if (isPage && type !== 'text/html') {
    await body.cancel()
    return refused('Slack sent a page to log in; the token may lack the scope files:read')
  }
  const name = textAt(file, 'name') ?? textAt(file, 'title') ?? 'file'
  return { attachment: await artifacts.save(name, type, Readable.from(body), limit) }
}

function refused(error: string): Download {
  return { error, forGood: true }
}

/** In channels shared with other organisations the event has only the id of a file. */
async function withDetails(file: JsonObject, workspace: Workspace): Promise<JsonObject> {
  if (file.file_access !== 'check_file_info') return file
  const answer = await workspace.api.call('files.info', (web) =>
    web.files.info({ file: textAt(file, 'id') ?? '' }),
  )
  const { name, mimetype, size, url_private, url_private_download } = answer.file ?? {}
  return { ...file, ...defined({ name, mimetype, size, url_private, url_private_download }) }
}

/** The token goes to Slack and nowhere else. */
function mayHaveToken(url: string, apiUrl: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, origin } = new URL(url)
  if (origin === new URL(apiUrl).origin) return true
  return protocol === 'https:' && (hostname === 'slack.com' || hostname.endsWith('.slack.com'))
}
