/** What gateways of email need of the daemon: a person who answers from the mailbox takes over. */
export type HandOverHost = {
  /**
   * Pauses a conversation of this gateway, as `conversation-pause`. `by`: who was seen, for people. `for`: ms. Resolves with
   * false where nobody knows the conversation; a pause that lasts longer stays as it is.
   */
  takeOver(seen: {
    conversation: string
    by: string
    reason: string
    for?: number
    drop: boolean
  }): Promise<boolean>
}
