import { TriviumError } from '../../core/errors.ts'
import { objectsIn, pathGet } from '../../core/json.ts'
import { commandText } from '../../lib/command-text.ts'
import { didYouMean, nearest } from '../../lib/nearest.ts'
import { type Environs, loadFor } from '../command.ts'
import { type Connection, connectOrRead } from '../connection.ts'

type Filter = { gateway?: string | undefined; conversation?: string | undefined }
type Source = Pick<Connection, 'invoke'>

/** Number of conversations whose names are compared. */
const MAX_COMPARED = 500

/** Why `trivium history` found nothing, if that is known. */
export async function nothingFound({ gateway }: Filter, environs: Environs): Promise<string> {
  if (gateway === undefined || !/^[\w-]+$/.test(gateway)) return 'Nothing found.'
  const config = await loadFor(environs, { withoutVariables: 'except-store' }).catch(() => undefined)
  const names = config?.gateways.map(({ name }) => name)
  if (names && !names.includes(gateway))
    return `Nothing found. There is no gateway ${gateway}.${didYouMean(gateway, names)}`
  return (await hasOnlyUnanswerable(gateway, environs))
    ? `Nothing found. Messages at ${gateway} cannot be answered, so they are not part of the transcript: ${commandText('message list --gateway', gateway)} shows them.`
    : 'Nothing found.'
}

/** The error for a conversation that neither the transcript nor the store knows. */
export async function unknownConversation(
  conversation: string,
  store: Source | undefined,
): Promise<TriviumError | undefined> {
  if (!store) return undefined
  const known = await store.invoke('message-list', { conversation, limit: 1 })
  if (objectsIn(known).length > 0) return undefined
  const found = await store.invoke('conversation-list', { limit: MAX_COMPARED }).catch(() => null)
  const names = objectsIn(pathGet(found, 'conversations')).map((one) => String(one.conversation))
  const near = nearest(conversation, names)
  const suggestion = near === undefined ? '' : ` Did you mean ${near}?`
  const hint = `${suggestion} To find one: ${commandText('conversation list --search', conversation)}`
  return new TriviumError('not_found', { path: `conversation ${conversation}`, hint })
}

/** Whether a gateway has messages, but none that can be answered. */
async function hasOnlyUnanswerable(gateway: string, environs: Environs): Promise<boolean> {
  try {
    await using store = await connectOrRead(environs)
    const page = { gateway, limit: 1 }
    const any = objectsIn(await store.invoke('message-list', page))
    const answerable = await store.invoke('message-list', { ...page, answerable: true })
    return any.length > 0 && pathGet(answerable, '0') === undefined
  } catch {
    return false
  }
}
