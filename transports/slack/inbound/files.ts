import { Readable } from 'node:stream'
import { reasonOf } from '../../../src/core/errors.ts'
import { type JsonObject, textAt } from '../../../src/core/json.ts'
import type { Attachment } from '../../../src/core/message.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { MINUTE } from '../../../src/core/units.ts'
import { atMost } from '../../../src/lib/at-most.ts'
import { defined } from '../../../src/lib/defined.ts'
import { inTime } from '../../../src/lib/pause.ts'
import { slackFailure } from '../api.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace } from '../workspaces/workspace.ts'

/** A downloaded file, or the error. `isPermanent`: a retry would not help. */
type Download = Attachment | { error: string; isPermanent: boolean }

/** A permanent failure. */
class Refusal extends Error {}

/**
 * Timeout of a download. Also how long a finished one is kept: longer than Slack repeats a
 * delivery.
 */
const KEEP_MS = 10 * MINUTE
/** Each download may use up to 2 MB of memory. */
const MAX_CONCURRENT = 16

/** Downloads the files of messages as artifacts. */
export function createFileFetcher(options: SlackOptions, { artifacts, log }: TransportDeps) {
  const maxFiles = options['max-files']
  const limit = options['max-file-size']
  const stopping = new AbortController()
  const limited = atMost(MAX_CONCURRENT)
  /** Running and finished downloads. */
  const downloads = new Map<string, Promise<Download>>()

  function find(file: JsonObject, workspace: Workspace): Promise<Download> {
    const key = `${workspace.team}/${textAt(file, 'id') ?? textAt(file, 'url_private') ?? ''}`
    const existing = downloads.get(key)
    if (existing) return existing
    const started = limited(() => download(file, workspace))
    downloads.set(key, started)
    // A temporary failure is not kept: the next delivery of the message downloads again.
    void started.then((result) => {
      const isTemporary = 'error' in result && !result.isPermanent
      setTimeout(() => downloads.delete(key), isTemporary ? 0 : KEEP_MS).unref()
    })
    return started
  }

  /** Never rejects. */
  async function download(file: JsonObject, workspace: Workspace): Promise<Download> {
    const signal = AbortSignal.any([AbortSignal.timeout(KEEP_MS), stopping.signal])
    try {
      return await save(file, workspace, signal)
    } catch (error) {
      const reason = reasonOf(error)
      log.warn({ file: textAt(file, 'id'), reason }, 'a file of Slack was not downloaded')
      const isPermanent = error instanceof Refusal || slackFailure(error).kind === 'rejected'
      return { error: reason, isPermanent }
    }
  }

  async function save(listed: JsonObject, workspace: Workspace, signal: AbortSignal): Promise<Attachment> {
    const file = await withDetails(listed, workspace)
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
     * Downloads files for up to `timeout` ms. Never rejects. Unfinished downloads continue, for the
     * next delivery. `files`: for `data`. `isComplete`: another attempt would not get more files.
     */
    async fetch(files: readonly JsonObject[], workspace: Workspace, timeout: number) {
      const late = AbortSignal.timeout(timeout)
      const results = await Promise.all(
        files.map(async (file, index): Promise<Download> => {
          if (index >= maxFiles) return { error: `only ${maxFiles} files are downloaded`, isPermanent: true }
          const result = await inTime(find(file, workspace), late)
          return result ?? { error: 'it took too long to download', isPermanent: false }
        }),
      )
      return {
        attachments: results.flatMap((each) => ('error' in each ? [] : each)),
        files: files.map((file, index) => description(file, results[index])),
        isComplete: results.every((each) => !('error' in each) || each.isPermanent),
      }
    },
    /** Aborts running downloads. */
    stop: () => stopping.abort(),
  }
}

function description(file: JsonObject, result: Download | undefined): JsonObject {
  return defined({
    id: textAt(file, 'id'),
    name: textAt(file, 'name') ?? textAt(file, 'title'),
    type: textAt(file, 'mimetype'),
    link: textAt(file, 'permalink'),
    error: textAt(result, 'error'),
  })
}

/** Fetches the details of a file if they are missing: in shared channels, events have only ids. */
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
