import type { JsonObject } from '../../../src/core/json.ts'
import type { Attachment } from '../../../src/core/message.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { inTime } from '../../../src/lib/pause.ts'
import { defined, textAt } from '../fields.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspace } from '../workspaces.ts'
import { type Download, download } from './download.ts'

/**
 * What is told of each file in `data.files`; `error` says why it is no attachment. `isWhole`: no file is missing that
 * may be here later.
 */
export type FetchedFiles = { attachments: Attachment[]; files: JsonObject[]; isWhole: boolean }

export type FileFetcher = {
  /**
   * Resolves when all files are here or cannot be had, or when `late` aborts. Never rejects. What is still on its way
   * then goes on coming, and is found when the message is delivered again.
   */
  fetch(files: readonly JsonObject[], workspace: Workspace, late: AbortSignal): Promise<FetchedFiles>
  /** Ends what is on its way. */
  stop(): void
}

/** As long as Slack goes on delivering a message. */
const PATIENCE = 300_000
const KEPT_FOR = 600_000
const MAX_KEPT = 500
const MAX_UNDER_WAY = 100

export function createFileFetcher(
  options: SlackOptions,
  deps: Pick<TransportDeps, 'artifacts' | 'log' | 'now'>,
): FileFetcher {
  const { artifacts, log, now } = deps
  const stopping = new AbortController()
  const kept = new Map<string, { done: Promise<Download>; until: number }>()
  let underWay = 0

  const find = (file: JsonObject, workspace: Workspace): Promise<Download> => {
    const key = `${workspace.team}/${textAt(file, 'id') ?? textAt(file, 'url_private') ?? ''}`
    const earlier = kept.get(key)
    if (earlier && earlier.until > now()) return earlier.done
    if (underWay >= MAX_UNDER_WAY) {
      return Promise.resolve({ error: 'too many files are being downloaded', forGood: false })
    }
    const entry = { done: begin(file, workspace), until: now() + KEPT_FOR }
    kept.delete(key)
    kept.set(key, entry)
    const [oldest] = kept.keys()
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    // What may come yet is fetched anew when the message comes again.
    void entry.done.then((done) => {
      if ('error' in done && !done.forGood && kept.get(key) === entry) kept.delete(key)
    })
    return entry.done
  }

  const begin = async (file: JsonObject, workspace: Workspace): Promise<Download> => {
    underWay++
    const signal = AbortSignal.any([AbortSignal.timeout(PATIENCE), stopping.signal])
    const done = await download(file, { workspace, options, artifacts, signal })
    underWay--
    if ('error' in done) {
      log.warn({ file: textAt(file, 'id'), reason: done.error }, 'a file of Slack was not downloaded')
    }
    return done
  }

  return {
    async fetch(files, workspace, late) {
      const most = options['max-files']
      const fetched = await Promise.all(
        files.map(async (file, index): Promise<Fetched> => {
          if (index >= most) return { file, error: `only ${most} files are downloaded`, forGood: true }
          const done = await inTime(find(file, workspace), late)
          return { file, ...(done ?? { error: 'it took too long to download', forGood: false }) }
        }),
      )
      return {
        attachments: fetched.flatMap((each) => ('attachment' in each ? each.attachment : [])),
        files: fetched.map(described),
        isWhole: fetched.every((each) => 'attachment' in each || each.forGood),
      }
    },
    stop: () => stopping.abort(),
  }
}

type Fetched = { file: JsonObject } & Download

function described(fetched: Fetched): JsonObject {
  const { file } = fetched
  return defined({
    id: textAt(file, 'id'),
    name: textAt(file, 'name') ?? textAt(file, 'title'),
    type: textAt(file, 'mimetype'),
    link: textAt(file, 'permalink'),
    error: 'error' in fetched ? fetched.error : undefined,
  })
}
