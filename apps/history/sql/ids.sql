-- Ids of turns: a sequence of their own, above those of memories, so that a list of both has one order.

create sequence history_ids as bigint minvalue 1000000000000 start 1000000000000;

-- Reverse
drop sequence history_ids;
