import { html } from '../lib/html.js'
import { ConversationsPage } from './conversations.js'
import { DeadLettersPage } from './dead-letters.js'
import { MessagePage } from './message.js'
import { MessagesPage } from './messages.js'

/**
 * The views, in the order of the navigation: `path` is where each is behind the `#`, `Page` gets the rest of the path and the query, and
 * `count(now)` is the number beside its name, of what wants somebody.
 */
export const VIEWS = [
  {
    path: 'messages',
    title: 'Messages',
    Page: ({ path: [id], query }) =>
      id ? html`<${MessagePage} key=${id} id=${id} />` : html`<${MessagesPage} query=${query} />`,
  },
  { path: 'conversations', title: 'Conversations', Page: ConversationsPage },
  {
    path: 'dead-letters',
    title: 'Dead letters',
    Page: DeadLettersPage,
    count: (now) => now?.deadLetters?.total,
  },
]
