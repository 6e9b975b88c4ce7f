import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Store } from '../../core/store.ts'
import type { Outside } from '../../lib/copies-at.ts'

/** The configuration, as far as it says where copies are. */
export type OutsideConfig = {
  gateways: readonly { name: string; transport: string }[]
  /** Such as `anthropic:claude-sonnet-5`. */
  models: readonly string[]
}

/** Where copies of messages may be that an erasure does not reach. */
export async function outsideOf(
  { gateways, models }: OutsideConfig,
  topics: Pick<Store['topics'], 'groups'>,
): Promise<Outside> {
  const ofKind = (kind: string) =>
    gateways.filter(({ transport }) => transport === kind).map(({ name }) => name)
  const groups = (await topics.groups(MESSAGE_TOPIC)).map(({ group }) => group)
  return {
    mailboxes: ofKind('email'),
    chats: ofKind('slack'),
    models: [...new Set(models.map((model) => model.split(':')[0] ?? model))],
    receivers: [...new Set(groups)].toSorted(),
  }
}
