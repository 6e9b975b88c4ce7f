/**
 * The messages that a push has still to send, of some that were asked about: how many, and since when
 * the first waits (Unix ms). `replayed`: how many of these a replay sends again; if there are others,
 * `since` is that of the others. `unread`: how many of both kinds it has not taken into its queue yet.
 */
export type WaitingPush = {
  name: string
  count: number
  replayed: number
  since: number
  unread: { fresh: number; replayed: number }
}

/** What each push has still to send of some messages. `more`: the search took too long, and there may be others. */
export type WaitingPushes = (messages: ReadonlySet<string>) => Promise<{ pushes: WaitingPush[]; more?: true }>
