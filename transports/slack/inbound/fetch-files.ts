import { Readable } from 'node:stream'
import { reasonOf } from '../../../src/core/errors.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { Attachment } from '../../../src/core/message.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined, textAt } from '../fields.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace } from '../workspaces.ts'

/** What is told of each file in `data.files`; `error` says why it is no attachment. */
export type FetchedFiles = { attachments: Attachment[]; files: JsonObject[] }

const PATIENCE = 60_000

/**
 * Downloads the files of a message to artifacts with the bot's token. Never rejects: a file that is too large or
 * cannot be read is told of, and the message is taken without it.
 */
export async function fetchFiles(
  files: readonly JsonObject[],
  workspace: Workspace,
  options: SlackOptions,
  deps: Pick<TransportDeps, 'artifacts' | 'log'>,
): Promise<FetchedFiles> {
  const fetched = await Promise.all(
    files.map(async (file, index) => {
      try {
        if (index >= options['max-files'])
          throw new Error(`only ${options['max-files']} files are downloaded`)
        return { file, attachment: await fetchFile(file, workspace, options, deps) }
      } catch (error) {
        deps.log.warn({ file: textAt(file, 'id'), err: error }, 'a file of Slack was not downloaded')
        return { file, error: reasonOf(error) }
      }
    }),
  )
  return {
    attachments: fetched.flatMap(({ attachment }) => attachment ?? []),
    files: fetched.map(({ file, error }) =>
      defined({
        id: textAt(file, 'id'),
        name: textAt(file, 'name') ?? textAt(file, 'title'),
        type: textAt(file, 'mimetype'),
        link: textAt(file, 'permalink'),
        error,
      }),
    ),
  }
}

async function fetchFile(
  file: JsonObject,
  workspace: Workspace,
  options: SlackOptions,
  deps: Pick<TransportDeps, 'artifacts'>,
): Promise<Attachment> {
  const known = await withDetails(file, workspace)
  const limit = options['max-file-size']
  if (typeof known.size === 'number' && known.size > limit) throw new Error(`it is over ${limit} bytes`)
  const url = textAt(known, 'url_private_download') ?? textAt(known, 'url_private')
  if (url === undefined) throw new Error('Slack gives no address to download it from')
  if (!mayHaveToken(url, options.apiUrl)) throw new Error('it is not kept at Slack')
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${workspace.token}` },
    // Without the scope files:read Slack sends browsers to a page to log in.
    redirect: 'manual',
    signal: AbortSignal.timeout(PATIENCE),
  })
  if (!response.ok || !response.body) {
    await response.body?.cancel()
    throw new Error(`Slack answered ${response.status}; the token may lack the scope files:read`)
  }
  const type = textAt(known, 'mimetype') ?? 'application/octet-stream'
  const isPage = (response.headers.get('content-type') ?? '').startsWith('text/html')
  if (isPage && type !== 'text/html') {
    await response.body.cancel()
    throw new Error('Slack sent a page to log in; the token may lack the scope files:read')
  }
  const name = textAt(known, 'name') ?? textAt(known, 'title') ?? 'file'
  return deps.artifacts.save(name, type, Readable.from(response.body), limit)
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
  const { protocol, hostname, origin } = new URL(url)
  if (origin === new URL(apiUrl).origin) return true
  return protocol === 'https:' && (hostname === 'slack.com' || hostname.endsWith('.slack.com'))
}
