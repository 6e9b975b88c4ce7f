import { isTimeZone } from '../../../src/lib/time-zone.ts'

/**
 * The time zone that a calendar means by a name (`TZID`) that it does not define: an IANA zone, a
 * zone of Windows, an IANA zone behind the prefix of a program
 * (`/freeassociation.sourceforge.net/Europe/Berlin`), or a fixed offset (`GMT+0100`). Undefined for
 * other names.
 */
export function zoneNamed(name: string): string | undefined {
  // Outlook numbers imported zones: `Eastern Standard Time 1`.
  const bare = name.trim().replace(/ \d$/, '')
  if (bare === '') return undefined
  if (isTimeZone(bare)) return bare
  const known = WINDOWS.get(bare.toLowerCase())
  if (known !== undefined) return known
  if (/^tzone:\/\/microsoft\/utc$/i.test(bare)) return 'UTC'
  const [, sign, hours, minutes] = /^(?:GMT|UTC)([+-])(\d\d):?(\d\d)$/i.exec(bare) ?? []
  const offset = `${sign}${hours}:${minutes}`
  if (sign !== undefined && isTimeZone(offset)) return offset
  const [, path = ''] = /\/([A-Z]\w+(?:\/[A-Z][\w+-]+){1,2})$/.exec(bare) ?? []
  return path !== '' && isTimeZone(path) ? path : undefined
}

/**
 * IANA zones of the zones of Windows, by the names of Windows without ` Standard Time` (Unicode
 * CLDR, territory 001).
 */
const NAMES = `
Africa/Cairo Egypt|Africa/Casablanca Morocco|Africa/Johannesburg South Africa|Africa/Lagos W. Central Africa|
Africa/Nairobi E. Africa|America/Anchorage Alaskan|America/Argentina/Buenos_Aires Argentina|
America/Asuncion Paraguay|America/Bogota SA Pacific|America/Caracas Venezuela|America/Cayenne SA Eastern|
America/Chicago Central|America/Denver Mountain|America/Guatemala Central America|America/Halifax Atlantic|
America/La_Paz SA Western|America/Los_Angeles Pacific|America/Mexico_City Central (Mexico)|
America/Montevideo Montevideo|America/New_York Eastern|America/Phoenix US Mountain|America/Regina Canada Central|
America/Santiago Pacific SA|America/Sao_Paulo E. South America|America/St_Johns Newfoundland|
America/Tijuana Pacific (Mexico)|Asia/Almaty Central Asia|Asia/Amman Jordan|Asia/Baghdad Arabic|Asia/Baku Azerbaijan|
Asia/Bangkok SE Asia|Asia/Beirut Middle East|Asia/Calcutta India|Asia/Colombo Sri Lanka|Asia/Dhaka Bangladesh|
Asia/Dubai Arabian|Asia/Jerusalem Israel|Asia/Kabul Afghanistan|Asia/Karachi Pakistan|Asia/Katmandu Nepal|
Asia/Rangoon Myanmar|Asia/Riyadh Arab|Asia/Seoul Korea|Asia/Shanghai China|Asia/Singapore Singapore|Asia/Taipei Taipei|
Asia/Tashkent West Asia|Asia/Tbilisi Georgian|Asia/Tehran Iran|Asia/Tokyo Tokyo|Asia/Vladivostok Vladivostok|
Asia/Yerevan Caucasus|Asia/Yekaterinburg Ekaterinburg|Atlantic/Azores Azores|Atlantic/Reykjavik Greenwich|
Australia/Adelaide Cen. Australia|Australia/Brisbane E. Australia|Australia/Darwin AUS Central|
Australia/Hobart Tasmania|Australia/Perth W. Australia|Australia/Sydney AUS Eastern|Europe/Berlin W. Europe|
Europe/Bucharest GTB|Europe/Budapest Central Europe|Europe/Chisinau E. Europe|Europe/Istanbul Turkey|Europe/Kiev FLE|
Europe/London GMT|Europe/Minsk Belarus|Europe/Moscow Russian|Europe/Paris Romance|Europe/Warsaw Central European|
Pacific/Auckland New Zealand|Pacific/Fiji Fiji|Pacific/Honolulu Hawaiian|UTC UTC`

const WINDOWS = new Map(
  NAMES.replaceAll('\n', '')
    .split('|')
    .map((entry) => {
      const space = entry.indexOf(' ')
      const name = entry.slice(space + 1).toLowerCase()
      return [name.replace(/( \(mexico\))?$/, ' standard time$1'), entry.slice(0, space)] as const
    }),
)
