/** What email gateways need from the daemon: pausing when a person answers from the mailbox. */
export type HandOverHost = {
  /**
   * Pauses a conversation of this gateway, like `conversation-pause`. `by`: the name of the person,
   * for display. `for`: ms. Resolves with false if the conversation is unknown; a longer pause
   * stays unchanged.
   */
  takeOver(pause: {
    conversation: string
    by: string
    reason: string
    for?: number
    drop: boolean
  }): Promise<boolean>
}
