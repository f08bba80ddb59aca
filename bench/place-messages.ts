// Owns: the places of messages that a benchmark has put into a database by itself: as a server leaves them that has been idle.
import type Database from 'better-sqlite3';

/** Gives every message its place in its conversation. @param file a database of Deskbell's */
export function placeMessages(file: Database.Database): void {
  file.exec(`insert into message_places
      select n.number, m.seq, m.number
        from messages as m join conversation_numbers as n on n.conversation_id = m.conversation_id
        where m.number > (select through from message_placing) order by 1, 2;
    update message_placing set through = (select max(number) from messages)`);
}
