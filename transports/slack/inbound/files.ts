import { Readable } from 'node:stream'
import { reasonOf } from '../../../src/core/errors.ts'
import { type JsonObject, textAt } from '../../../src/core/json.ts'
import type { Attachment } from '../../../src/core/message.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { atMost } from '../../../src/lib/at-most.ts'
import { defined } from '../../../src/lib/defined.ts'
import { inTime } from '../../../src/lib/pause.ts'
import { slackFailure } from '../api.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace } from '../workspaces/workspace.ts'

/** A downloaded file, or the error. `forGood`: a retry would not help. */
type Download = Attachment | { error: string; forGood: boolean }

/** A permanent failure. */
class Refusal extends Error {}

/** Longer than Slack's retries of a delivery (ms). */
const PATIENCE = 600_000
/** Concurrent downloads; each may use up to 2 MB of memory. */
const AT_ONCE = 16

export function createFileFetcher(options: SlackOptions, { artifacts, log }: TransportDeps) {
  const most = options['max-files']
  const limit = options['max-file-size']
  const stopping = new AbortController()
  const inPlace = atMost(AT_ONCE)
  /** Finished and running downloads. */
  const kept = new Map<string, Promise<Download>>()

  function find(file: JsonObject, workspace: Workspace): Promise<Download> {
    const key = `${workspace.team}/${textAt(file, 'id') ?? textAt(file, 'url_private') ?? ''}`
    const known = kept.get(key)
    if (known) return known
    const coming = inPlace(() => download(file, workspace))
    kept.set(key, coming)
    // Failed downloads are retried when the message is delivered again. Files shared again later may no longer be cached.
    void coming.then((done) => {
      setTimeout(() => kept.delete(key), 'error' in done && !done.forGood ? 0 : PATIENCE).unref()
    })
    return coming
  }

  async function download(file: JsonObject, workspace: Workspace): Promise<Download> {
    const signal = AbortSignal.any([AbortSignal.timeout(PATIENCE), stopping.signal])
    try {
      return await save(file, workspace, signal)
    } catch (error) {
      const reason = reasonOf(error)
      log.warn({ file: textAt(file, 'id'), reason }, 'a file of Slack was not downloaded')
      return { error: reason, forGood: error instanceof Refusal || slackFailure(error).kind === 'rejected' }
    }
  }

  async function save(named: JsonObject, workspace: Workspace, signal: AbortSignal): Promise<Attachment> {
    const file = await withDetails(named, workspace)
    if (Number(file.size) > limit) throw new Refusal(`it is over ${limit} bytes`)
    const url = textAt(file, 'url_private_download') ?? textAt(file, 'url_private')
    if (url === undefined) throw new Refusal('Slack gives no address to download it from')
    if (!mayHaveToken(url, options['api-url'])) throw new Refusal('it is not stored at Slack')
    const headers = { authorization: `Bearer ${workspace.api.token}` }
    // Without the scope files:read, Slack redirects to a login page.
    const response = await fetch(url, { headers, redirect: 'manual', signal })
    const { status, body } = response
    if (!response.ok || !body) {
      await body?.cancel()
      const reason = `Slack answered ${status}`
      if (status >= 500 || status === 429 || status === 408) throw new Error(reason)
      throw new Refusal(`${reason}; the token may lack the scope files:read`)
    }
    const name = textAt(file, 'name') ?? textAt(file, 'title') ?? 'file'
    const type = textAt(file, 'mimetype') ?? 'application/octet-stream'
    return artifacts.save(name, type, Readable.from(body), limit)
  }

  return {
    /**
     * Resolves when all files are here or cannot be had, or after `patience` ms. Never rejects. What is still on its way
     * then goes on coming, and is found when the message is delivered again. `files`: what is told of each in `data`.
     * `isWhole`: none is missing that may be here later.
     */
    async fetch(files: readonly JsonObject[], workspace: Workspace, patience: number) {
      const late = AbortSignal.timeout(patience)
      const fetched = await Promise.all(
        files.map(async (file, index): Promise<Download> => {
          if (index >= most) return { error: `only ${most} files are downloaded`, forGood: true }
          const done = await inTime(find(file, workspace), late)
          return done ?? { error: 'it took too long to download', forGood: false }
        }),
      )
      return {
        attachments: fetched.flatMap((each) => ('error' in each ? [] : each)),
        files: files.map((file, index) => described(file, fetched[index])),
        isWhole: fetched.every((each) => !('error' in each) || each.forGood),
      }
    },
    /** Aborts running downloads. */
    stop: () => stopping.abort(),
  }
}

function described(file: JsonObject, done: Download | undefined): JsonObject {
  return defined({
    id: textAt(file, 'id'),
    name: textAt(file, 'name') ?? textAt(file, 'title'),
    type: textAt(file, 'mimetype'),
    link: textAt(file, 'permalink'),
    error: textAt(done, 'error'),
  })
}

/** Fetches file details: in shared channels, events contain only the file's id. */
async function withDetails(file: JsonObject, workspace: Workspace): Promise<JsonObject> {
  if (file.file_access !== 'check_file_info') return file
  const answer = await workspace.api.files.info({ file: textAt(file, 'id') ?? '' })
  const { name, mimetype, size, url_private, url_private_download } = answer.file ?? {}
  return { ...file, ...defined({ name, mimetype, size, url_private, url_private_download }) }
}

/** Whether a URL may get the token: only Slack's own hosts. */
function mayHaveToken(url: string, apiUrl: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, origin } = new URL(url)
  if (origin === new URL(apiUrl).origin) return true
  return protocol === 'https:' && (hostname === 'slack.com' || hostname.endsWith('.slack.com'))
}
