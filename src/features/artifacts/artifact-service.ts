import { hash } from 'node:crypto'
import { allKeys } from '../../core/all-keys.ts'
import type { ArtifactService, FileRequester } from '../../core/artifacts.ts'
import { requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { isOperator } from '../../core/identity.ts'
import type { Message } from '../../core/message.ts'
import type { Store } from '../../core/store.ts'
import type { Artifacts } from '../../core/transport.ts'
import { MIB } from '../../core/units.ts'

/** Maximum bytes of a file saved by a skill or program. */
const MAX_SAVED_BYTES = 25 * MIB
/** Key prefix of access rights: `artifact:<hash of the file>:<digest of the scope>`. */
const RIGHT_PREFIX = 'artifact:'

/**
 * The files of messages, for skills and programs. Knowing a hash grants no access: files are for
 * operators, for the conversation in which they arrived or were saved, and for the caller who saved
 * them.
 */
export function createArtifactService(deps: {
  artifacts: Artifacts
  store: { kv: Store['kv']; journal: Pick<Store['journal'], 'get'> }
  /** How long (ms) rights and files are kept. */
  keepFor(): number
}): ArtifactService {
  const { artifacts, store } = deps

  async function requireRight(sha256: string, requester: FileRequester, named?: Message) {
    if (isOperator(requester.caller)) return
    if ([requester.message, named].some((message) => message && filesOf(message).includes(sha256))) return
    const rights = scopesOf(requester).map((scope) => store.kv.get(rightKey(sha256, scope)))
    if ((await Promise.all(rights)).every((right) => right === undefined))
      throw new TriviumError('artifact_not_found', { sha256 })
  }

  return {
    async save({ name, type, data }, requester) {
      const body = typeof data === 'string' ? Buffer.from(data) : data
      const saved = await artifacts.save(name.slice(0, 255), type, body, MAX_SAVED_BYTES)
      for (const scope of scopesOf(requester))
        await store.kv.set(rightKey(saved.sha256, scope), saved.sha256, { ttl: deps.keepFor() })
      return saved
    },
    async open({ artifact, messageId }, requester) {
      const sha256 = hashIn(typeof artifact === 'string' ? artifact : artifact.sha256)
      const named = messageId === undefined ? undefined : await store.journal.get(messageId)
      if (named) requireGateway(requester.caller, named.gateway)
      await requireRight(sha256, requester, named)
      return artifacts.open(sha256)
    },
    async requireAll(attachments, requester, named) {
      for (const { sha256 } of attachments) await requireRight(sha256, requester, named)
    },
  }
}

/** The access scopes of a caller. */
function scopesOf({ caller, message }: FileRequester): string[] {
  const conversation = message && `${message.gateway}/${message.conversation}`
  return [conversation, isOperator(caller) ? 'operator' : caller.id].filter((scope) => scope !== undefined)
}

function rightKey(sha256: string, scope: string): string {
  return `${RIGHT_PREFIX}${sha256}:${digestOf(scope)}`
}

function digestOf(scope: string): string {
  return hash('sha256', scope, 'base64url')
}

/**
 * The hashes of files that were saved for one of `scopes` (people, or conversations as
 * `gateway/conversation`) and that nobody else may read, apart from operators and `otherScopes`.
 */
export async function filesSavedFor(
  kv: Pick<Store['kv'], 'list'>,
  scopes: readonly string[],
  otherScopes: readonly string[],
): Promise<string[]> {
  const theirs = new Set(scopes.map(digestOf))
  const allowed = new Set([...scopes, ...otherScopes, 'operator'].map(digestOf))
  const rights = (await allKeys(kv, RIGHT_PREFIX)).map((key) => {
    const [sha256 = '', digest = ''] = key.slice(RIGHT_PREFIX.length).split(':')
    return { sha256, digest }
  })
  return [...Map.groupBy(rights, ({ sha256 }) => sha256)]
    .filter(([, all]) => all.some(({ digest }) => theirs.has(digest)))
    .filter(([, all]) => all.every(({ digest }) => allowed.has(digest)))
    .map(([sha256]) => sha256)
}

/**
 * The files of a message. Other hashes in `data` do not count: the sender may have written them.
 */
function filesOf({ transport, attachments, data }: Message): string[] {
  const textPaths = transport === 'email' ? [data.textPath, data.fullTextPath, data.htmlPath] : []
  return [...attachments.map(({ sha256 }) => sha256), ...textPaths.map((path) => hashIn(String(path)))]
}

/** The hash at the end of the path of an artifact, or a hash alone. */
function hashIn(path: string): string {
  return path.split('/').at(-1) ?? ''
}
