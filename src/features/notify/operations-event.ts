/** Data of an event on `trivium-operations`. */
export type OperationsEvent = {
  severity: 'error' | 'warning'
  title: string
  text: string
  todo: string
  count: number
  /** Start, or time of the event (Unix ms). */
  since: number
  where: Record<string, string>
  messageId?: string
  deadLetterId?: string
  approvalId?: string
}
