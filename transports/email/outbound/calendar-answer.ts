import ICAL from 'ical.js'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Reply } from '../../../src/core/transport.ts'
import type { ReplyTarget } from '../reply-target.ts'

type Answer = Exclude<Reply['calendar'], undefined>
type Invited = Exclude<ReplyTarget['calendar'], undefined>

const ANSWERS = {
  accept: { status: 'ACCEPTED', word: 'Accepted' },
  tentative: { status: 'TENTATIVE', word: 'Tentative' },
  decline: { status: 'DECLINED', word: 'Declined' },
} as const satisfies Record<Answer, { status: string; word: string }>

/** The invitation that a reply answers, if any. Throws `send_rejected` if its message has none. */
export function invitedTo(reply: Reply, target: ReplyTarget | undefined): Invited | undefined {
  if (reply.calendar === undefined) return undefined
  if (target?.calendar) return target.calendar
  const reason = 'its message has no invitation with an id and an organiser that could be answered'
  throw new TriviumError('send_rejected', { gateway: reply.gateway, reason })
}

/** The subject of a calendar answer: "Accepted: Weekly". */
export function answerSubject(answer: Answer, { summary }: Invited): string {
  const { word } = ANSWERS[answer]
  return summary ? `${word}: ${summary}` : word
}

/** The iTIP reply (RFC 5546, section 3.2.3), for nodemailer. `at`: time of the answer (Unix ms). */
export function calendarAnswer(answer: Answer, invited: Invited, at: number) {
  const { uid, organiser, attendee, name, summary, start, end, sequence, recurrenceId } = invited
  const calendar = new ICAL.Component('vcalendar')
  calendar.addPropertyWithValue('prodid', '-//Trivium//Email//EN')
  calendar.addPropertyWithValue('version', '2.0')
  calendar.addPropertyWithValue('method', 'REPLY')
  const event = new ICAL.Component('vevent')
  event.addPropertyWithValue('uid', uid)
  event.addPropertyWithValue('dtstamp', ICAL.Time.fromJSDate(new Date(at), true))
  event.addPropertyWithValue('organizer', `mailto:${organiser}`)
  const participant = event.addPropertyWithValue('attendee', `mailto:${attendee}`)
  participant.setParameter('partstat', ANSWERS[answer].status)
  if (name) participant.setParameter('cn', name)
  event.addPropertyWithValue('sequence', sequence ?? 0)
  if (summary) event.addPropertyWithValue('summary', summary)
  const times = { dtstart: start, dtend: end, 'recurrence-id': recurrenceId }
  for (const [property, time] of Object.entries(times)) {
    if (time !== undefined) addTime(event, property, time)
  }
  calendar.addSubcomponent(event)
  return { method: 'REPLY', filename: 'invite.ics', content: `${calendar.toString()}\r\n` }
}

/** Adds a time: an instant, a date, or a floating time. */
function addTime(event: ICAL.Component, property: string, text: string): void {
  const seconds = text.replace(/\.\d+(?=Z?$)/, '')
  const time = seconds.includes('T')
    ? ICAL.Time.fromDateTimeString(seconds)
    : ICAL.Time.fromDateString(seconds)
  event.addPropertyWithValue(property, time)
}
