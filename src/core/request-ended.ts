/** The history entry of a message whose request ended without the reply. It is on the outbox road. */
export const REQUEST_ENDED = 'request ended'
