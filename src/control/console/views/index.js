import { html } from '../lib/html.js'
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
]
