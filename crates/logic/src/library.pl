% The rules of Interlock about the live state, and the list predicates.
%
% Facts: known_node/1, node_health/2, node_metric/3, link/4 (both directions), alert/3, current_vm_host/2, guest_name/2,
% dependency/2, resource/1. Searches keep a sorted set of what they have seen, so they end on every graph.
%
% Names that begin with $$ are left out of explanations; of names that begin with $ only what they rest on is shown. A
% search is left out, and the links or dependencies of what it found are proven again: these are what the answer rests on.

in_service(Node) :- node_health(Node, nominal).
in_service(Node) :- node_health(Node, degraded).

live_link(A, B, Cost) :- link(A, B, Cost, up), in_service(A), in_service(B).

can_reach(From, To) :-
    in_service(From),
    '$$reached_from'(From, Edges),
    '$$end_of'(To, From, Edges),
    '$$back'(To, From, Edges, [], Path),
    '$links_hold'(Path).

% Edges are Node-Previous, for every node that is reached besides From.
'$$reached_from'(From, Edges) :- '$$spread'([From], [From], [], Edges).

'$$spread'([], _, Edges, Edges).
'$$spread'([Node|Nodes], Seen, Edges0, Edges) :-
    findall(Next-Previous, (member(Previous, [Node|Nodes]), live_link(Previous, Next, _)), Found),
    '$$first_seen'(Found, Seen, New, Keys, Seen1),
    append(Edges0, New, Edges1),
    '$$spread'(Keys, Seen1, Edges1, Edges).

% One edge for each node that was not seen before.
'$$first_seen'(Found, Seen, New, Keys, Seen1) :-
    sort(1, @<, Found, Unique),
    pairs_keys(Unique, Keys0),
    ord_subtract(Keys0, Seen, Keys),
    '$$with_keys'(Unique, Keys, New),
    ord_union(Seen, Keys, Seen1).

'$$with_keys'([], _, []).
'$$with_keys'([Key-Value|Pairs], Keys, Kept) :- '$$with_key'(Keys, Key, Value, Pairs, Kept).

'$$with_key'([], _, _, _, []).
'$$with_key'([First|Keys], Key, Value, Pairs, Kept) :-
    (   First == Key
    ->  Kept = [Key-Value|Kept1],
        '$$with_keys'(Pairs, Keys, Kept1)
    ;   '$$with_keys'(Pairs, [First|Keys], Kept)
    ).

'$$end_of'(To, From, Edges) :-
    (   nonvar(To)
    ->  ( To == From -> true ; memberchk(To-_, Edges) )
    ;   ( To = From ; member(To-_, Edges) )
    ).

'$$back'(Node, From, Edges, Path0, Path) :-
    (   Node == From
    ->  Path = [Node|Path0]
    ;   memberchk(Node-Previous, Edges),
        '$$back'(Previous, From, Edges, [Node|Path0], Path)
    ).

'$links_hold'([Node]) :- in_service(Node), !.
'$links_hold'([A, B]) :- !, once(live_link(A, B, _)).
'$links_hold'([A, B|Path]) :- once(live_link(A, B, _)), '$links_hold'([B|Path]).

shortest_path(From, To, Path, Cost) :-
    in_service(From),
    '$$cheapest'([0-(From-From)], To, [], Edges),
    '$$priced'(To, Edges, Cost),
    '$$drop_costs'(Edges, Plain),
    '$$back'(To, From, Plain, [], Path),
    '$links_hold'(Path).

% The queue is sorted by cost, then by names, so equal costs always give the same path. Edges are Node-step(Previous, Cost).
'$$cheapest'([], _, Edges, Edges).
'$$cheapest'([Cost-(Node-Previous)|Queue], To, Edges0, Edges) :-
    (   memberchk(Node-_, Edges0)
    ->  '$$cheapest'(Queue, To, Edges0, Edges)
    ;   Node == To
    ->  Edges = [Node-step(Previous, Cost)|Edges0]
    ;   findall(Next-(Other-Node),
                (   live_link(Node, Other, Price),
                    \+ memberchk(Other-_, Edges0),
                    Next is Cost + Price
                ),
                More),
        append(More, Queue, Unsorted),
        msort(Unsorted, Sorted),
        '$$cheapest'(Sorted, To, [Node-step(Previous, Cost)|Edges0], Edges)
    ).

'$$priced'(To, Edges, Cost) :-
    (   nonvar(To)
    ->  memberchk(To-step(_, Cost0), Edges),
        Cost = Cost0
    ;   reverse(Edges, Nearest),
        member(To-step(_, Cost), Nearest)
    ).

'$$drop_costs'([], []).
'$$drop_costs'([Node-step(Previous, _)|Edges], [Node-Previous|Plain]) :- '$$drop_costs'(Edges, Plain).

active_alerts(Resource, Conditions) :-
    resource(Resource),
    now(Now),
    findall(Condition, (alert(Resource, Condition, Time), Now - Time =< 300), All),
    sort(All, Conditions).

depends_on(A, B) :- dependency(A, B).
depends_on(Guest, Node) :- current_vm_host(Guest, Node).

blast_radius(Resource, Affected) :-
    resource(Resource),
    '$$affected_by'([Resource], [Resource], [], Edges),
    pairs_keys(Edges, Keys),
    sort(Keys, Affected),
    '$dependencies_hold'(Edges).

'$$affected_by'([], _, Edges, Edges).
'$$affected_by'([Resource|Resources], Seen, Edges0, Edges) :-
    findall(Next-Needed, (member(Needed, [Resource|Resources]), depends_on(Next, Needed)), Found),
    '$$first_seen'(Found, Seen, New, Keys, Seen1),
    append(Edges0, New, Edges1),
    '$$affected_by'(Keys, Seen1, Edges1, Edges).

'$dependencies_hold'([]).
'$dependencies_hold'([A-B|Edges]) :- once(depends_on(A, B)), '$dependencies_hold'(Edges).

between(Low, High, N) :-
    '$$integer_or_free'(N),
    Low =< High,
    (   nonvar(N)
    ->  N >= Low, N =< High
    ;   '$$between'(Low, High, N)
    ).

'$$between'(Low, High, N) :- Low =:= High, !, N = Low.
'$$between'(Low, _, Low).
'$$between'(Low, High, N) :- Next is Low + 1, '$$between'(Next, High, N).

member(X, [First|Rest]) :- '$$member'(Rest, X, First).

'$$member'([], X, X).
'$$member'([_|_], X, X).
'$$member'([First|Rest], X, _) :- '$$member'(Rest, X, First).

append([], List, List).
append([X|A], B, [X|List]) :- append(A, B, List).

reverse(List, Reversed) :- '$$reverse'(List, [], Reversed).

'$$reverse'([], Reversed, Reversed).
'$$reverse'([X|Rest], So_far, Reversed) :- '$$reverse'(Rest, [X|So_far], Reversed).

nth0(N, List, X) :- '$$integer_or_free'(N), '$$nth'(List, 0, N, X).
nth1(N, List, X) :- '$$integer_or_free'(N), '$$nth'(List, 1, N, X).

% An error for everything else, because `mod` takes integers.
'$$integer_or_free'(N) :- ( var(N) -> true ; _ is N mod 1 ).

'$$nth'([First|Rest], Number, N, X) :-
    (   nonvar(N)
    ->  (   N =:= Number
        ->  X = First
        ;   N > Number,
            Next is Number + 1,
            '$$nth'(Rest, Next, N, X)
        )
    ;   (   N = Number, X = First
        ;   Next is Number + 1,
            '$$nth'(Rest, Next, N, X)
        )
    ).

last([X|Rest], Last) :- '$$last'(Rest, X, Last).

'$$last'([], Last, Last).
'$$last'([X|Rest], _, Last) :- '$$last'(Rest, X, Last).

select(X, [X|Rest], Rest).
select(X, [First|Rest], [First|Without]) :- select(X, Rest, Without).

subtract([], _, []).
subtract([X|List], Without, Rest) :-
    (   memberchk(X, Without)
    ->  Rest = Rest1
    ;   Rest = [X|Rest1]
    ),
    subtract(List, Without, Rest1).

intersection([], _, []).
intersection([X|List], Other, Both) :-
    (   memberchk(X, Other)
    ->  Both = [X|Both1]
    ;   Both = Both1
    ),
    intersection(List, Other, Both1).

union([], List, List).
union([X|List], Other, Either) :-
    (   memberchk(X, Other)
    ->  Either = Either1
    ;   Either = [X|Either1]
    ),
    union(List, Other, Either1).

list_to_set(List, Set) :- '$$to_set'(List, [], Set).

'$$to_set'([], _, []).
'$$to_set'([X|List], Seen, Set) :-
    (   '$$same_member'(X, Seen)
    ->  Set = Set1
    ;   Set = [X|Set1]
    ),
    '$$to_set'(List, [X|Seen], Set1).

'$$same_member'(X, [Y|Rest]) :- ( X == Y -> true ; '$$same_member'(X, Rest) ).

pairs_keys([], []).
pairs_keys([Key-_|Pairs], [Key|Keys]) :- pairs_keys(Pairs, Keys).

pairs_values([], []).
pairs_values([_-Value|Pairs], [Value|Values]) :- pairs_values(Pairs, Values).
