import { hash } from 'node:crypto'
import { requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { isOperator } from '../../core/identity.ts'
import type { Message } from '../../core/message.ts'
import type { ArtifactService, FileAsking } from '../../core/services.ts'
import type { Store } from '../../core/store.ts'
import type { Artifacts } from '../../core/transport.ts'

/** What a skill or a program may save at once, in bytes. */
const MAX_SAVED = 25 * 1024 * 1024

/**
 * The files of messages, for skills and programs. To know a hash is no right: a file is for operators, for the conversation
 * in which it came or was saved, and for whoever saved it. `keepFor`: how long that is remembered (ms), and the file kept.
 */
export function createArtifactService(deps: {
  artifacts: Artifacts
  store: { kv: Store['kv']; journal: Pick<Store['journal'], 'get'> }
  keepFor(): number
}): ArtifactService {
  const { artifacts, store } = deps

  async function requireRight(sha256: string, asking: FileAsking, named?: Message) {
    if (isOperator(asking.caller)) return
    if ([asking.message, named].some((message) => message && filesOf(message).includes(sha256))) return
    const rights = scopesOf(asking).map((scope) => store.kv.get(rightOf(sha256, scope)))
    if ((await Promise.all(rights)).every((right) => right === undefined))
      throw new TriviumError('artifact_not_found', { sha256 })
  }

  return {
    async save({ name, type, data }, asking) {
      const body = typeof data === 'string' ? Buffer.from(data) : data
      const saved = await artifacts.save(name.slice(0, 255), type, body, MAX_SAVED)
      for (const scope of scopesOf(asking))
        await store.kv.set(rightOf(saved.sha256, scope), saved.sha256, { ttl: deps.keepFor() })
      return saved
    },
    async open({ artifact, messageId }, asking) {
      const sha256 = hashIn(typeof artifact === 'string' ? artifact : artifact.sha256)
      const named = messageId === undefined ? undefined : await store.journal.get(messageId)
      if (named) requireGateway(asking.caller, named.gateway)
      await requireRight(sha256, asking, named)
      return artifacts.open(sha256)
    },
    async requireAll(attachments, asking, named) {
      for (const { sha256 } of attachments) await requireRight(sha256, asking, named)
    },
  }
}

/** In whose name somebody saves, and opens again. */
function scopesOf({ caller, message }: FileAsking): string[] {
  const conversation = message && `${message.gateway}/${message.conversation}`
  return [conversation, isOperator(caller) ? 'operator' : caller.id].filter((scope) => scope !== undefined)
}

function rightOf(sha256: string, scope: string): string {
  return `artifact:${sha256}:${hash('sha256', scope, 'base64url')}`
}

/** What a message brought. What else its `data` names, its sender may have written. */
function filesOf({ transport, attachments, data }: Message): string[] {
  const texts = transport === 'email' ? [data.textPath, data.fullTextPath, data.htmlPath] : []
  return [...attachments.map(({ sha256 }) => sha256), ...texts.map((path) => hashIn(String(path)))]
}

/** The hash in a path. */
function hashIn(path: string): string {
  return path.split('/').at(-1) ?? ''
}
