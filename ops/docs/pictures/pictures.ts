import { consumerGroups, deadLetters } from './delivery.ts'
import { identity, stores } from './identity-and-stores.ts'
import { conversations, roads } from './messages.ts'

/** The pictures of docs/images that are drawn here: SVG by file name. */
export const pictures: Readonly<Record<string, string>> = {
  'roads.svg': roads(),
  'conversations.svg': conversations(),
  'consumer-groups.svg': consumerGroups(),
  'dead-letters.svg': deadLetters(),
  'identity.svg': identity(),
  'stores.svg': stores(),
}
