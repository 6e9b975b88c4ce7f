import { counted } from './counted.ts'

/**
 * What else a pause of dispatch holds: the next attempts of messages in back-off, and approved
 * runs. Empty if there are none.
 */
export function heldLaterText({
  retrying = 0,
  approvals = 0,
}: {
  retrying?: number
  approvals?: number
}): string {
  const again =
    retrying > 0 &&
    `${counted(retrying, 'message is', 'messages are')} tried again: the next ${retrying === 1 ? 'attempt waits' : 'attempts wait'} for the end of the pause.`
  const approved =
    approvals > 0 &&
    `${counted(approvals, 'message waits', 'messages wait')} for an approval: what is approved runs after the pause.`
  return [again, approved].filter(Boolean).join(' ')
}
